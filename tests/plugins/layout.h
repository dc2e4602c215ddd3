/*
 * layout: where the fields of the first attention.h lie, and which number each of its names has, in
 * the first header and in today's.
 */
#pragma once

#include <stddef.h>

struct layout {
    const char *name;
    size_t value;
};

extern const struct layout layout_first[], layout_now[];
extern const size_t layout_first_count, layout_now_count;
