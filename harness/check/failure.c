/*
 * failure: records what a check found wrong, and says it in words.
 */
#include "trial.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Records a failure, with its error or unfinished, of the blamed counts that have not failed before. */
static bool fail(struct trial *trial, struct check_result failure, const char *format,
                 va_list arguments)
{
    struct checker *checker = trial->checker;
    char input[PARSE_TEXT];
    parse_print_input(&trial->input, input);
    memcpy(failure.phase, trial->phase, sizeof failure.phase);
    const size_t size = sizeof failure.why;
    const size_t at = (size_t)snprintf(failure.why, size, "%s: ", trial->phase);
    vsnprintf(failure.why + at, size - at, format, arguments);
    append(failure.why, size, trial->of_problem);
    if (strchr(input,
               '+')) { /* it says more of the operands than which numbers are in q, k and v */
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
    va_list arguments;
    va_start(arguments, format);
    fail(trial, (struct check_result){.max_abs_error = NAN, .error_over_bound = NAN}, format,
         arguments);
    va_end(arguments);
    return false;
}

bool check_give_up(struct trial *trial, const char *format, ...)
{
    const struct check_result result = {
        .unfinished = true, .max_abs_error = NAN, .error_over_bound = NAN};
    va_list arguments;
    va_start(arguments, format);
    fail(trial, result, format, arguments);
    va_end(arguments);
    return false;
}

/* The same for a wrong element. */
static bool fail_element(struct trial *trial, const struct check_mismatch *wrong,
                         const char *format, ...)
{
    const double error = fabs(wrong->got - wrong->expected);
    va_list arguments;
    va_start(arguments, format);
    fail(trial,
         (struct check_result){.max_abs_error = error, .error_over_bound = error / wrong->bound},
         format, arguments);
    va_end(arguments);
    return false;
}

/* Drops the sign of NaN, which means nothing. */
static double shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

/* "row (b 0, h 3, i 63) element 5: got 1, expected 0.5, bound 1e-6" */
bool check_fail_mismatch(struct trial *trial, const struct check_comparison *comparison)
{
    const struct check_mismatch *wrong = &comparison->first;
    const struct tensors_place at = tensors_place(&trial->problem, &trial->set.tensors, wrong->row);
    char reason[256] = "", element[48] = "", special[48] = "";
    if (trial->checker->result->ok) /* else V may have been changed already */
        check_diagnose(trial, wrong, reason, sizeof reason);
    if (strcmp(wrong->tensor, "lse") != 0)
        snprintf(element, sizeof element, " element %zu", wrong->element);
    if (trial->needle_count)
        snprintf(special, sizeof special,
                 "at key %zu: ", check_needle(trial, at.b, attn_kv_head(&trial->problem, at.h)));
    return fail_element(trial, wrong,
                        "%s%s row (b %zu, h %zu, i %zu)%s: got %.*g, expected %.*g, bound %.3g "
                        "(%zu of %zu rows wrong)%s",
                        special, wrong->tensor, at.b, at.h, at.i, element,
                        check_digits(&trial->problem), shown(wrong->got),
                        check_digits(&trial->problem), shown(wrong->expected), shown(wrong->bound),
                        comparison->wrong_rows, comparison->rows, reason);
}
