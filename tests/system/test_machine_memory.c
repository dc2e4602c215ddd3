/*
 * machine: what a process has used, where its pages lie, and how large they are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulated.h"
#include "machines.h"

#define NO_POLICIES "has no calls about the memory of nodes"

static void usage_counts_faults(void **state)
{
    (void)state;
    enum { PAGES = 64 };
    struct machine *machine = this_one();
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct machine_usage before, after;
    machine_usage(machine, &before);
    char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = 1;
    machine_usage(machine, &after);
    assert_true(after.minor_faults - before.minor_faults >= PAGES);
    assert_true(after.peak_rss_bytes >= before.peak_rss_bytes);
    assert_true(after.peak_rss_bytes > 0);
    assert_true(after.steal_s >= before.steal_s);
    assert_true(after.runnable >= 1);
    munmap(memory, PAGES * page);
    machine_close(machine);
}

static void memory_policies_are_accepted(void **state)
{
    (void)state;
    unless_emulated(NO_POLICIES);
    struct machine *machine = this_one();
    const size_t bytes = 16u << 20;
    char message[256] = "";
    assert_true(machine_bind(machine, PLACEMENT_CORES, 1, message, sizeof message));
    for (int policy = MEMORY_FIRST_TOUCH; policy <= MEMORY_BIND; policy++) {
        char *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(memory != MAP_FAILED);
        if (!machine_memory_set(machine, (enum memory_policy)policy, message, sizeof message))
            fail_msg("%s", message);
        memset(memory, 7, bytes);
        if (!machine_memory_place(machine, memory + 1, bytes - 1, (enum memory_policy)policy, 3,
                                  message, sizeof message))
            fail_msg("%s", message);
        for (size_t i = 0; i < bytes; i += 4096)
            assert_int_equal(memory[i], 7);
        assert_true(
            machine_memory_holds(machine, memory + 1, bytes - 1, (enum memory_policy)policy, 3));
        munmap(memory, bytes);
    }
    machine_close(machine);
}

/* Whether the system says on which nodes pages lie; a container's filter of system calls may refuse it. */
static bool pages_are_located(char *memory)
{
    void *page = memory;
    int node;
    return syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) == 0 || errno != EPERM;
}

/* On a machine of two nodes (made up; the pages are real, and all on one) nothing is interleaved. */
static void pages_elsewhere_are_found_out(void **state)
{
    (void)state;
    unless_emulated(NO_POLICIES);
    struct machine *two = made_up(TWO_NODES);
    struct machine *one = this_one();
    const size_t bytes = 1u << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, bytes);
    assert_int_equal(machine_numa_nodes(two), 2);
    const bool located = pages_are_located(memory);
    if (!located) /* what cannot be shown is not claimed */
        print_message("move_pages() is refused here\n");
    assert_int_equal(machine_memory_holds(two, memory, bytes, MEMORY_FIRST_TOUCH, 1), located);
    if (machine_numa_nodes(one) == 1) {
        assert_false(machine_memory_holds(two, memory, bytes, MEMORY_INTERLEAVE, 1));
        assert_true(machine_memory_holds(one, memory, bytes, MEMORY_INTERLEAVE, 1));
    }
    munmap(memory, bytes);
    machine_close(one);
    machine_close(two);
}

/* Where transparent huge pages are off altogether, nothing may be claimed. */
static void huge_pages_are_read_back(void **state)
{
    (void)state;
    const size_t bytes = 8u << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(machine_huge_bytes(memory, bytes), 0);
    machine_huge_pages(memory, bytes);
    memset(memory, 1, bytes);
    machine_huge_collapse(memory, bytes);
    const size_t huge = machine_huge_bytes(memory, bytes);
    assert_true(huge <= bytes);
    assert_true(huge % (64 << 10) == 0);
    munmap(memory, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_counts_faults),
        cmocka_unit_test(memory_policies_are_accepted),
        cmocka_unit_test(pages_elsewhere_are_found_out),
        cmocka_unit_test(huge_pages_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
