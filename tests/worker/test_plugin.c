/*
 * plugin: structs of other sizes than ours, and layouts that never change.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "plugins/layout.h"
#include "worker/plugin.h"

#define BEFORE offsetof(struct attn_kernel, caps)

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan;
    (void)tensors;
}

/* A kernel with something in every field, and room behind it, filled with ones. */
union longer {
    struct attn_kernel kernel;
    unsigned char bytes[sizeof(struct attn_kernel) + 64];
};

static union longer sample(size_t caps_size)
{
    union longer theirs;
    memset(&theirs, 0xff, sizeof theirs);
    theirs.kernel = (struct attn_kernel){
        .size = BEFORE + caps_size,
        .name = "sample",
        .isa = ATTN_ISA_AVX2,
        .execute = execute,
        .caps = {.size = caps_size,
                 .dtypes = 5,
                 .varies = true,
                 .max_dim = 128,
                 .compute = ATTN_BF16,
                 .bound_factor = 4,
                 .bound_reason = "a reason"},
    };
    return theirs;
}

static void take(const union longer *theirs, struct attn_kernel *ours)
{
    char why[256] = "";
    memset(ours, 0xff, sizeof *ours);
    if (!plugin_copy(&theirs->kernel, 0, ours, MESSAGE(why)))
        fail_msg("%s", why);
    assert_int_equal(ours->size, sizeof *ours);
    assert_int_equal(ours->caps.size, sizeof ours->caps);
    assert_string_equal(ours->name, "sample");
    assert_int_equal(ours->isa, ATTN_ISA_AVX2);
    assert_ptr_equal(ours->execute, execute);
    assert_null(ours->prepare);
    assert_int_equal(ours->caps.dtypes, 5);
    assert_true(ours->caps.varies);
}

TEST(same_size_is_copied_whole)
{
    struct attn_kernel ours;
    const union longer theirs = sample(sizeof(struct attn_caps));
    take(&theirs, &ours);
    assert_int_equal(ours.caps.max_dim, 128);
    assert_int_equal(ours.caps.compute, ATTN_BF16);
    assert_true(ours.caps.bound_factor == 4);
    assert_string_equal(ours.caps.bound_reason, "a reason");
}

/* What the shorter struct does not have is 0, whatever lies behind it. */
TEST(shorter_is_filled_with_zeros)
{
    struct attn_kernel ours;
    union longer theirs = sample(offsetof(struct attn_caps, compute));
    take(&theirs, &ours);
    assert_int_equal(ours.caps.max_dim, 128);
    assert_int_equal(ours.caps.compute, ATTN_F32);
    assert_true(ours.caps.bound_factor == 0);
    assert_null(ours.caps.bound_reason);
    theirs = sample(offsetof(struct attn_caps, max_dim));
    take(&theirs, &ours);
    assert_int_equal(ours.caps.max_dim, 0);
}

/* caps end where the kernel ends, even if they say that they are longer. */
TEST(the_shorter_of_both_sizes_counts)
{
    struct attn_kernel ours;
    union longer theirs = sample(sizeof(struct attn_caps));
    theirs.kernel.size = BEFORE + offsetof(struct attn_caps, bound_factor);
    take(&theirs, &ours);
    assert_int_equal(ours.caps.compute, ATTN_BF16);
    assert_true(ours.caps.bound_factor == 0);
}

TEST(longer_is_cut_off)
{
    struct {
        struct attn_kernel ours;
        unsigned char behind[64];
    } room;
    unsigned char before[sizeof room.behind];
    union longer theirs = sample(sizeof(struct attn_caps) + 64);
    memset(&room, 0xaa, sizeof room);
    memcpy(before, room.behind, sizeof before);
    take(&theirs, &room.ours);
    assert_string_equal(room.ours.caps.bound_reason, "a reason");
    assert_memory_equal(room.behind, before, sizeof before);
}

TEST(nonsense_is_refused)
{
    static const size_t sizes[] = {0, 1, BEFORE + offsetof(struct attn_caps, max_dim) - 1, 65537,
                                   SIZE_MAX};
    struct attn_kernel ours;
    char why[256];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        union longer theirs = sample(sizeof(struct attn_caps));
        theirs.kernel.size = sizes[i];
        assert_false(plugin_copy(&theirs.kernel, 3, &ours, MESSAGE(why)));
        assert_non_null(strstr(why, "kernel 3 says that its struct attn_kernel has "));
    }
    assert_false(plugin_copy(NULL, 2, &ours, MESSAGE(why)));
    assert_string_equal(why, "kernel 2 is NULL");
}

/* A factor that JSON cannot hold, or that would make every bound meaningless. */
TEST(a_bound_factor_is_a_number)
{
    static const struct {
        double factor;
        const char *why;
    } wrong[] = {{NAN, "kernel sample has a bound_factor of nan"},
                 {INFINITY, "kernel sample has a bound_factor of inf"},
                 {-1, "kernel sample has a bound_factor of -1"}};
    struct attn_kernel ours;
    char why[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        union longer theirs = sample(sizeof(struct attn_caps));
        theirs.kernel.caps.bound_factor = wrong[i].factor;
        assert_false(plugin_copy(&theirs.kernel, 0, &ours, MESSAGE(why)));
        assert_string_equal(why, wrong[i].why);
    }
}

/* What the first header had stands where it stood, under the same numbers. */
TEST(layout_of_the_first_header)
{
    assert_true(layout_first_count > 100);
    assert_int_equal(layout_now_count, layout_first_count);
    for (size_t i = 0; i < layout_first_count; i++)
        if (layout_first[i].value != layout_now[i].value)
            fail_msg("%s was %zu and is %zu: plug-ins of the first header would break",
                     layout_first[i].name, layout_first[i].value, layout_now[i].value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_size_is_copied_whole),
        cmocka_unit_test(shorter_is_filled_with_zeros),
        cmocka_unit_test(the_shorter_of_both_sizes_counts),
        cmocka_unit_test(longer_is_cut_off),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_bound_factor_is_a_number),
        cmocka_unit_test(layout_of_the_first_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
