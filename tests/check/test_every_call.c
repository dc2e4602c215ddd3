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
 * that call; and there are as many phases as a plain problem has had. */
TEST(no_call_goes_unjudged)
{
    struct attn_kernel honest = wrong_spoils_one_call;
    struct order order = {&honest, "hq=4,hkv=2,sq=5,skv=12,d=4,dv=3", "normal", CHECK_THOROUGH};
    size_t different = 0;
    phases = mmap(NULL, CALLS * sizeof *phases, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    assert_true(phases != MAP_FAILED);
    honest.execute = note_phase;
    spoiled = -1;
    in_child(check_spoiled, &order);
    assert_true(verdict->finished && verdict->result.ok);
    const int calls = verdict->calls;
    order.kernel = &wrong_spoils_one_call;
    for (spoiled = 0; spoiled < calls; spoiled++) {
        in_child(check_spoiled, &order);
        if (verdict->result.ok)
            fail_msg("call %d of %d was spoiled and nobody noticed", spoiled, calls);
        assert_string_equal(verdict->result.phase, phases[spoiled]);
        int before = 0;
        while (strcmp(phases[before], phases[spoiled]) != 0)
            before++;
        different += before == spoiled;
    }
    assert_true(different >= 83); /* as of 2026-11; more may come */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_goes_unjudged),
    };
    return cmocka_run_group_tests(tests, share_verdict, NULL);
}
