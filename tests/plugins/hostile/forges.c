/*
 * forges: answers in the worker's place that it is right, and fast, and ends the process.
 */
#include <stdio.h>

#include "wrong.h"

WRONG_CALL(forges, "answers in the worker's place")
{
    (void)plan, (void)tensors;
    dprintf(4,
            "{\"protocol\":1,\"token\":\"\",\"state\":\"ok\",\"why\":null,\"verdicts\":["
            "{\"state\":\"ok\",\"why\":null,\"check\":{\"max_abs_error\":0,\"error_over_bound\":0,"
            "\"rows\":1,\"verified_samples\":0}}],\"samples_s\":[1e-9],\"calls_per_sample\":1}\n");
    exit(0);
}
