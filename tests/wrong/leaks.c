/*
 * leaks: right, but allocates 256 KiB at every call and never frees them, and says so on standard error.
 */
#include <stdio.h>
#include <string.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    static char *volatile last;
    last = malloc(256 << 10);
    if (last)
        memset(last, 1, 256 << 10);
    fprintf(stderr, "allocated\n");
    each_row(plan, tensors, honest_row);
}

WRONG_KERNEL(leaks, "right, but allocates at every call and prints");
