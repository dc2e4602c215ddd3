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

unsigned check_blame(const struct checker *checker, int threads)
{
    for (size_t k = 0; k < checker->count; k++)
        if (checker->counts[k] == threads)
            return 1u << k;
    return UINT_MAX;
}

/* Cuts what does not fit. */
static void append(char *text, size_t size, const char *more)
{
    const size_t at = strlen(text), room = size - at - 1, length = strlen(more);
    memcpy(text + at, more, length < room ? length : room);
    text[at + (length < room ? length : room)] = 0;
}

/* Records a failure, with its error or as unfinished, for the blamed counts that have not failed before. */
static bool fail(struct trial *trial, const struct check_result *how, const char *format,
                 va_list arguments)
{
    struct checker *checker = trial->checker;
    struct check_result failure = *how;
    char input[PARSE_TEXT];
    aftermath_settle();
    parse_print_input(&trial->input, input);
    memcpy(failure.phase, trial->phase, sizeof failure.phase);
    const size_t size = sizeof failure.why;
    const size_t at = (size_t)snprintf(failure.why, size, "%s: ", trial->phase);
    vsnprintf(failure.why + at, size - at, format, arguments);
    append(failure.why, size, trial->of_problem);
    if (strchr(input, '+')) { /* the input has clauses about other operands than q, k and v */
        append(failure.why, size, " input=");
        append(failure.why, size, input);
    }
    for (size_t k = 0; k < checker->count; k++)
        if (checker->blamed >> k & 1 && checker->results[k].ok)
            checker->results[k] = failure;
    return checker->result->ok = false;
}

bool check_fail(struct trial *trial, const char *format, ...)
{
    const struct check_result how = {.max_abs_error = NAN, .error_over_bound = NAN};
    va_list arguments;
    va_start(arguments, format);
    fail(trial, &how, format, arguments);
    va_end(arguments);
    return false;
}

bool check_give_up(struct trial *trial, const char *format, ...)
{
    const struct check_result how = {
        .unfinished = true, .max_abs_error = NAN, .error_over_bound = NAN};
    va_list arguments;
    va_start(arguments, format);
    fail(trial, &how, format, arguments);
    va_end(arguments);
    return false;
}

bool check_fail_element(struct trial *trial, const struct check_mismatch *wrong, const char *format,
                        ...)
{
    const double error = fabs(wrong->got - wrong->expected);
    const struct check_result how = {.max_abs_error = error,
                                     .error_over_bound = error / wrong->bound};
    va_list arguments;
    va_start(arguments, format);
    fail(trial, &how, format, arguments);
    va_end(arguments);
    return false;
}
