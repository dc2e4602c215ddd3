/*
 * operands_content.h: whether what operands hold is possible; for operands_valid.c only.
 */
#pragma once

#include "attention.h"

/* The operands to check, and the buffer for the message. */
struct operands_inquiry {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    char *message;
    size_t size;
};

/* Writes the message; returns false. */
bool attn_operands_refuse(const struct operands_inquiry *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Looks at lengths, offsets, pages, parents, lists of keys and bytes of the mask of operands that are
 * there and whose strides fit. */
bool attn_operands_content_fit(const struct operands_inquiry *in);
