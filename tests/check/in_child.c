/*
 * in_child: the child, and what it runs.
 */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <omp.h>

#include "check_kernel.h"
#include "in_child.h"
#include "problem/filled_tensors.h"
#include "system/fault.h"

struct verdict *verdict;

int share_verdict(void **state)
{
    (void)state;
    verdict =
        mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return verdict == MAP_FAILED;
}

void in_child(void (*run)(const void *), const void *argument)
{
    memset(verdict, 0, sizeof *verdict);
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* also under a sanitizer */
        signal(SIGBUS, SIG_DFL);
        omp_set_num_threads(THREADS);
        fault_share(verdict->progress, sizeof verdict->progress);
        run(argument);
        verdict->finished = true;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (!verdict->finished) {
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGSEGV);
    }
}

void check_one(const void *argument)
{
    const struct order *order = argument;
    const struct problem_case c = case_of(order->problem, order->input);
    check_kernel(order->kernel, &c, THREADS, order->depth, &verdict->result);
}

void check_both(const void *argument)
{
    const struct order *order = argument;
    const struct problem_case c = case_of(order->problem, order->input);
    const int threads[] = {1, THREADS};
    check_counts(order->kernel, &c, threads, 2, order->depth, verdict->results);
}

size_t missed(const struct catch *table, size_t count)
{
    size_t missed = 0;
    for (size_t n = 0; n < count; n++) {
        const char *name = table[n].order.kernel->name;
        in_child(check_one, &table[n].order);
        const struct check_result *r = &verdict->result;
        print_message("%s: [%s] %s\n", name, r->phase, r->why);
        if (!verdict->finished || r->ok || strcmp(r->phase, table[n].phase) != 0 ||
            !strstr(r->why, table[n].text)) {
            print_error("%s: expected [%s] ... %s ...\n", name, table[n].phase, table[n].text);
            missed++;
        }
    }
    return missed;
}
