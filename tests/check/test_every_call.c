/*
 * Every call that a check makes is judged, and every phase catches what is wrong in its calls.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "in_child.h"
#include "system/fault.h"

extern const struct attn_kernel wrong_spoils_one_call;
extern int spoil_call, spoil_calls;

static int spoiled; /* which call */

#define CALLS 400 /* of a check of the problem below, at most */

/* Phases of a check of the problem below; each catches something. */
static const char *const expected[] = {"own input",
                                       "small problem",
                                       "fully masked rows",
                                       "first tile masked",
                                       "mean 2",
                                       "negative",
                                       "needle",
                                       "ascending",
                                       "descending",
                                       "falling by 100",
                                       "rising by 100",
                                       "exp edge",
                                       "exp edge below",
                                       "ties",
                                       "scores of 1000",
                                       "subnormal v",
                                       "subnormal q and k",
                                       "large v",
                                       "nan in k",
                                       "nan in v",
                                       "infinity in v",
                                       "nan in v's last column",
                                       "nan in q",
                                       "repeat",
                                       "threads",
                                       "second input",
                                       "keys permuted",
                                       "scores shifted",
                                       "v linear",
                                       "split and merged",
                                       "within the range of v",
                                       "normal input",
                                       "scale almost 0",
                                       "scale of 0.01",
                                       "scale of 1",
                                       "scale of 30",
                                       "negative scale",
                                       "negative scale of 30",
                                       "three sequences",
                                       "a KV head for each query head",
                                       "three query heads to a KV head",
                                       "one KV head",
                                       "one query",
                                       "one key",
                                       "fewer queries than keys",
                                       "more queries than keys",
                                       "odd dimensions",
                                       "dimensions of 1",
                                       "v wider than k",
                                       "v narrower than k",
                                       "other layout",
                                       "other layout, three sequences",
                                       "lse alone",
                                       "o and lse",
                                       "causal, fewer queries than keys",
                                       "causal, more queries than keys",
                                       "causal_top_left, fewer queries than keys",
                                       "causal_top_left, more queries than keys",
                                       "window to the left",
                                       "window to the right",
                                       "window to both sides",
                                       "window of one key",
                                       "window wider than all keys",
                                       "causal and window",
                                       "causal and window to both sides",
                                       "causal_top_left and window",
                                       "causal_top_left and window to both sides"};

/* The phase of each call, as a crash would be reported; shared with the child. */
static char (*phases)[64];

static void note_phase(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    char stage[256];
    fault_told(stage, sizeof stage);
    const char *phase = strstr(stage, ": "), *const end = strstr(stage, ", guard page");
    assert_true(phase && end);
    phase += 2;
    assert_in_range(spoil_calls, 0, CALLS - 1);
    snprintf(phases[spoil_calls], sizeof *phases, "%.*s", (int)(end - phase), phase);
    wrong_spoils_one_call.execute(plan, tensors);
}

static void check_spoiled(const void *order)
{
    spoil_call = spoiled;
    check_one(order);
    verdict->calls = spoil_calls;
}

/* A kernel that is honest but for one call of a whole check is caught whichever call it is, in the phase of
 * that call; and all phases are among those that catch. */
TEST(no_call_goes_unjudged)
{
    struct attn_kernel honest = wrong_spoils_one_call;
    struct order order = {&honest, "hq=4,hkv=2,sq=5,skv=12,d=4,dv=3", "normal", CHECK_THOROUGH};
    bool seen[COUNT(expected)] = {false};
    phases = mmap(NULL, CALLS * sizeof *phases, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    assert_true(phases != MAP_FAILED);
    honest.execute = note_phase;
    spoiled = -1;
    in_child(check_spoiled, &order);
    assert_true(verdict->finished && verdict->result.ok);
    const int calls = verdict->calls;
    assert_in_range(calls, 40, CALLS);
    order.kernel = &wrong_spoils_one_call;
    for (spoiled = 0; spoiled < calls; spoiled++) {
        in_child(check_spoiled, &order);
        if (verdict->result.ok)
            fail_msg("call %d of %d was spoiled and nobody noticed", spoiled, calls);
        assert_string_equal(verdict->result.phase, phases[spoiled]);
        for (size_t n = 0; n < COUNT(expected); n++)
            seen[n] |= strcmp(verdict->result.phase, expected[n]) == 0;
    }
    for (size_t n = 0; n < COUNT(expected); n++)
        if (!seen[n])
            fail_msg("phase \"%s\" caught nothing", expected[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_goes_unjudged),
    };
    return cmocka_run_group_tests(tests, share_verdict, NULL);
}
