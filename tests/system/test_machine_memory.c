/*
 * machine: what a process has used and may use, where its pages lie, and how large they are.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulated.h"
#include "machines.h"
#include "system/machine_private.h"

#define NO_POLICIES "has no calls about the memory of nodes"

TEST(usage_counts_faults)
{
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

TEST(memory_policies_are_accepted)
{
    unless_emulated(NO_POLICIES);
    struct machine *machine = this_one();
    const size_t bytes = 16u << 20;
    char message[256] = "";
    assert_true(machine_bind(machine, PLACEMENT_CORES, 1, MESSAGE(message)));
    for (int policy = MEMORY_FIRST_TOUCH; policy <= MEMORY_BIND; policy++) {
        char *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(memory != MAP_FAILED);
        if (!machine_memory_set(machine, (enum memory_policy)policy, MESSAGE(message)))
            fail_msg("%s", message);
        memset(memory, 7, bytes);
        if (!machine_memory_place(machine, memory + 1, bytes - 1, (enum memory_policy)policy, 3,
                                  MESSAGE(message)))
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
TEST(pages_elsewhere_are_found_out)
{
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
TEST(huge_pages_are_read_back)
{
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

/* ---- control groups -------------------------------------------------------------------------- */

#define GROUPS "/sys/fs/cgroup"

/* Writes a file below a folder, with the folders above it. */
static void write_below(const char *root, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

/* The least of a group and all above it; a container sees its own group as the root, by whatever path. */
TEST(limits_are_those_of_the_own_group)
{
    static const struct {
        const char *group;
        const char *files[8][2];
        double quota, memory;
        long throttled;
    } known[] = {
        {"0::/\n", {{NULL}}, 0, 1e18, 0},
        {"0::/slurm/job_1/step_0\n",
         {{GROUPS "/slurm/job_1/step_0/cpu.max", "max 100000\n"},
          {GROUPS "/slurm/job_1/step_0/memory.max", "max\n"},
          {GROUPS "/slurm/job_1/step_0/cpu.stat", "usage_usec 5\nnr_throttled 2\n"},
          {GROUPS "/slurm/job_1/cpu.max", "30000 100000\n"},
          {GROUPS "/slurm/job_1/cpu.stat", "nr_periods 20\nnr_throttled 7\n"},
          {GROUPS "/slurm/job_1/memory.max", "1000000\n"},
          {GROUPS "/slurm/job_1/memory.current", "500000\n"},
          {GROUPS "/slurm/job_1/memory.stat", "anon 4\ninactive_file 200000\n"}},
         0.3,
         700000,
         9},
        {"4:memory:/a/b\n3:cpu,cpuacct:/c\n1:name=systemd:/d\n0::/\n",
         {{GROUPS "/cpu/c/cpu.cfs_quota_us", "150000\n"},
          {GROUPS "/cpu/c/cpu.cfs_period_us", "50000\n"},
          {GROUPS "/cpu/c/cpu.stat", "nr_throttled 3\n"},
          {GROUPS "/cpu/cpu.cfs_quota_us", "-1\n"},
          {GROUPS "/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
          {GROUPS "/memory/a/memory.limit_in_bytes", "4096\n"},
          {GROUPS "/memory/a/memory.usage_in_bytes", "5000\n"}},
         3,
         0,
         3},
        {"0::/docker/0123\n",
         {{GROUPS "/cpu.max", "200000 100000\n"}, {GROUPS "/memory.max", "64\n"}},
         2,
         64,
         0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char root[] = "/tmp/attnbench-groups-XXXXXX";
        assert_non_null(mkdtemp(root));
        write_below(root, "/proc/self/cgroup", known[i].group);
        for (size_t n = 0; n < 8 && known[i].files[n][0]; n++)
            write_below(root, known[i].files[n][0], known[i].files[n][1]);
        const double quota = machine_groups_quota(root), memory = machine_groups_memory(root);
        const long throttled = machine_groups_throttled(root);
        write_below(root, "/proc/vmstat", "oom_kill_disable 5\noom_kill 3\nthp 2\n");
        assert_int_equal(machine_groups_ended(root), 3);
        if (quota != known[i].quota || memory != known[i].memory || throttled != known[i].throttled)
            fail_msg("%zu: quota %g, memory %g, throttled %ld", i, quota, memory, throttled);
        nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_counts_faults),
        cmocka_unit_test(memory_policies_are_accepted),
        cmocka_unit_test(pages_elsewhere_are_found_out),
        cmocka_unit_test(huge_pages_are_read_back),
        cmocka_unit_test(limits_are_those_of_the_own_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
