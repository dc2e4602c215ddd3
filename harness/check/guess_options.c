/*
 * guess_options: another scale, or a mask or option that is left out.
 */
#include <assert.h>
#include <math.h>

#include "evidence.h"

enum { SCALES = 6 };

static bool other_scale(size_t n, struct guess *guess)
{
    const float scale = guess->problem.scale;
    const struct {
        float scale;
        const char *reason;
    } scales[SCALES] = {
        {0, "the scale were 1/sqrt(D), whatever the problem says"},
        {fabsf(scale), "the scale were positive"},
        {scale * scale, "the scale were applied twice"},
        {1, "the scale were not applied"},
        {scale * 1.44269504f, "scores were multiplied by log2(e) and then passed to exp"},
        {scale * 0.693147181f, "exp2 were used instead of exp"},
    };
    guess->problem.scale = scales[n].scale;
    return guess_say(
        guess, n == 0 ? scale != attn_problem_scale(&guess->problem) : scale != scales[n].scale,
        "as if %s", scales[n].reason);
}

/* Masks and options that a kernel may ignore. */
static const struct {
    unsigned mask, option;
    const char *name;
} parts[] = {
    {.mask = ATTN_MASK_BOOL, .name = "boolean mask"},
    {.option = ATTN_OPTION_SOFTCAP, .name = "softcap"},
    {.mask = ATTN_MASK_BIAS, .name = "bias"},
    {.option = ATTN_OPTION_ALIBI, .name = "slope"},
    {.option = ATTN_OPTION_SINKS, .name = "sink"},
};

#define PARTS (sizeof parts / sizeof *parts)

static bool left_out(size_t n, struct guess *guess)
{
    struct attn_problem *p = &guess->problem;
    const bool had = p->mask & parts[n].mask || p->options & parts[n].option;
    p->mask &= ~parts[n].mask;
    p->options &= ~parts[n].option;
    return guess_say(guess, had, "as if there were no %s", parts[n].name);
}

static_assert(SCALES + PARTS == GUESS_OPTIONS, "a hypothesis for each");

bool guess_option(size_t n, struct guess *guess)
{
    return n < SCALES ? other_scale(n, guess) : left_out(n - SCALES, guess);
}
