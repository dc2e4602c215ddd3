/*
 * isa.h: the instruction sets that variants are built for.
 *
 * isa.c is the only place that knows how each one is named and recognised; kernel.cmake is the
 * only place that knows its compiler flags.
 */
#ifndef ATTN_ISA_H
#define ATTN_ISA_H

#include "attention.h"

/* What the ISA needs of the host, for `attnbench list`: "AVX2, FMA, ..." */
const char *attn_isa_needs(enum attn_isa isa);

#endif
