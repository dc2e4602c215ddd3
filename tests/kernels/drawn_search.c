/*
 * drawn_search: the child, the search, and the line that shows what was found.
 */
#include "testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check_kernel.h"
#include "drawn_search.h"
#include "problem/draw.h"
#include "tested.h"

#define CASE_S 60 /* longer than any case takes on a busy machine, under the sanitizers */

int drawn_threads(const struct problem_case *c)
{
    return 1 + (int)(c->input.seed % 3);
}

bool drawn_passes(const struct drawn_property *property, const struct problem_case *c)
{
    const struct attn_kernel *kernel = property->kernel;
    const int threads = kernel->caps.parallel ? drawn_threads(c) : 1;
    struct check_result result;
    if (!tested_computes(kernel, &c->problem, threads))
        return false;
    if (!check_kernel(kernel, c, threads, CHECK_CASE, &result))
        fail_msg("%s", result.why);
    return true;
}

/* ---- the child ----------------------------------------------------------------------------- */

/* What a child is to do; its last case and how many there were stay behind. */
struct task {
    const struct drawn_property *property;
    const struct drawn_series *series;
    struct progress {
        size_t at, applied;
    } * progress;
};

/* A problem as it is drawn, with the clauses that an input has where nothing is said of them. */
static struct problem_case plain_case(const struct attn_problem *problem, uint64_t seed)
{
    struct problem_case c = {.problem = *problem};
    struct parse_error error;
    assert_true(parse_input("normal:1", &c.input, &error));
    c.input.seed = seed;
    return c;
}

static struct problem_case case_at(const struct drawn_series *series, size_t n)
{
    const uint64_t seed = series->seed + n;
    struct problem_case c;
    if (series->cases)
        return series->cases[n];
    if (series->draw) {
        series->draw(&c, series->seed, n);
        return c;
    }
    const struct attn_problem problem = drawn_problem(series->limits, seed);
    return plain_case(&problem, seed);
}

static bool hold_all(const void *argument)
{
    const struct task *task = argument;
    for (size_t n = 0; n < task->series->count; n++) {
        const struct problem_case c = case_at(task->series, n);
        task->progress->at = n;
        alarm(CASE_S);
        task->progress->applied += task->property->holds(task->property, &c);
    }
    return true;
}

/* Whether the call returned true, in a process of its own. */
static bool in_child(bool (*call)(const void *), const void *argument, bool quiet)
{
    int status;
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion ends the child, not its test */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        if (quiet && (dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0))
            _exit(2);
        exit(call(argument) ? 0 : 1); /* leaks are reported here */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool hold(const struct drawn_property *property, const struct drawn_series *series,
                 bool quiet, struct progress *progress)
{
    const int shared = MAP_SHARED | MAP_ANONYMOUS, allowed = PROT_READ | PROT_WRITE;
    struct progress *common = mmap(NULL, sizeof *common, allowed, shared, -1, 0);
    assert_true(common != MAP_FAILED);
    const struct task task = {property, series, common};
    const bool right = in_child(hold_all, &task, quiet);
    if (!right && !quiet)
        print_error("\n"); /* the child's last line has no end */
    *progress = *common;
    munmap(common, sizeof *common);
    return right;
}

bool drawn_fails(const struct drawn_property *property, const struct problem_case *c)
{
    const struct drawn_series one = {.cases = c, .count = 1};
    struct progress progress;
    return !hold(property, &one, true, &progress);
}

bool drawn_find(const struct drawn_property *property, const struct drawn_series *series,
                struct problem_case *failing, size_t *applied)
{
    struct progress progress;
    const bool right = hold(property, series, true, &progress);
    *applied = progress.applied;
    if (!right)
        *failing = case_at(series, progress.at);
    return !right;
}

/* ---- how to see it again ------------------------------------------------------------------- */

#define MOST_TRIES 300
#define SEEDS \
    3 /* lengths and masks depend on the seed: in a smaller problem the old one may draw nothing special */

static bool fails_somehow(const void *context, struct problem_case *c)
{
    const uint64_t own = c->input.seed;
    bool fails = drawn_fails(context, c);
    for (uint64_t seed = 1; seed <= SEEDS && !fails; seed++) {
        c->input.seed = seed;
        fails = drawn_fails(context, c);
    }
    c->input.seed = fails ? c->input.seed : own;
    return fails;
}

struct problem_case drawn_simplest(const struct drawn_property *property,
                                   const struct problem_case *failing)
{
    return draw_simplest(failing, fails_somehow, property, MOST_TRIES);
}

void drawn_repro(const struct drawn_property *property, const struct problem_case *c,
                 char text[DRAWN_REPRO])
{
    const struct attn_kernel *kernel = property->kernel;
    const char *isa = attn_isa_name(kernel->isa);
    char problem[PARSE_TEXT], input[PARSE_TEXT];
    parse_print_problem(&c->problem, problem);
    parse_print_input(&c->input, input);
    if (property->test)
        snprintf(
            text, DRAWN_REPRO,
            "ATTNBENCH_PROBLEM='%s' ATTNBENCH_SEED=%llu ctest --preset release -R '^%s/%s/%s$'",
            problem, (unsigned long long)c->input.seed, property->test, kernel->name, isa);
    else
        snprintf(text, DRAWN_REPRO,
                 "attnbench check --kernel %s --isa %s --threads %d --problem '%s input=%s'",
                 kernel->name, isa, kernel->caps.parallel ? drawn_threads(c) : 1, problem, input);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (!text)
        return otherwise;
    const uint64_t value = strtoull(text, &end, 10);
    if (!*text || *end)
        fail_msg("%s=%s is not a number", name, text);
    return value;
}

size_t drawn_hold(const struct drawn_property *property, const struct drawn_series *series)
{
    struct drawn_series asked = *series;
    struct problem_case failing, given;
    struct attn_problem parsed;
    struct parse_error error;
    struct progress progress;
    char text[DRAWN_REPRO];
    const char *problem = getenv("ATTNBENCH_PROBLEM");
    if (problem && !parse_problem(problem, &parsed, &error))
        fail_msg("ATTNBENCH_PROBLEM=%s: %s", problem, error.message);
    if (problem)
        given = plain_case(&parsed, environment("ATTNBENCH_SEED", 0));
    if (problem)
        asked = (struct drawn_series){.cases = &given, .count = 1};
    if (!asked.cases) {
        asked.seed = environment("ATTNBENCH_SEED", asked.seed);
        asked.count = environment("ATTNBENCH_DRAWS", asked.count);
    }
    if (hold(property, &asked, false, &progress))
        return progress.applied;
    failing = case_at(&asked, progress.at);
    failing = drawn_simplest(property, &failing);
    drawn_repro(property, &failing, text);
    hold(property, &(struct drawn_series){.cases = &failing, .count = 1}, false, &progress);
    fail_msg("the simplest problem that fails is above; to see it again:\n%s", text);
    return 0;
}
