/*
 * failure: records what a check found wrong, and says it in words.
 */
#include "trial.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system/aftermath.h"

unsigned failure_blame(const struct checker *checker, int threads)
{
    for (size_t k = 0; k < checker->count; k++)
        if (checker->counts[k] == threads)
            return 1u << k;
    return UINT_MAX;
}

const struct check_result failure_wrong = {.max_abs_error = NAN, .error_over_bound = NAN},
                          failure_unfinished = {
                              .unfinished = true, .max_abs_error = NAN, .error_over_bound = NAN};

bool failure_record(struct trial *trial, const struct check_result *how, const char *format, ...)
{
    struct checker *checker = trial->checker;
    struct check_result failure = *how;
    char input[PARSE_TEXT];
    va_list arguments;
    aftermath_settle();
    parse_print_input(&trial->input, input);
    memcpy(failure.phase, trial->phase, sizeof failure.phase);
    const size_t size = sizeof failure.why;
    const size_t at = (size_t)snprintf(failure.why, size, "%s: ", trial->phase);
    va_start(arguments, format);
    vsnprintf(failure.why + at, size - at, format, arguments);
    va_end(arguments);
    message_add(failure.why, size, "%s", trial->of_problem);
    if (strchr(input, '+')) /* the input has clauses about other operands than q, k and v */
        message_add(failure.why, size, " input=%s", input);
    for (size_t k = 0; k < checker->count; k++)
        if (checker->blamed >> k & 1 && checker->results[k].ok)
            checker->results[k] = failure;
    return checker->result->ok = false;
}
