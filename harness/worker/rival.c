/*
 * rival: a kernel that another program computes.
 */
#include "rival.h"

#include <stdio.h>

const struct attn_kernel *rival_open(struct worker *worker, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: programs are not run yet", worker->request.plugin);
    return NULL;
}

bool rival_describe(const char *program, json_t *answer, char *why, size_t why_size)
{
    (void)answer;
    snprintf(why, why_size, "%s: programs are not run yet", program);
    return false;
}
