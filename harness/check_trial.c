/*
 * check_trial: running a kernel under watch.
 */
#include "check_trial.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_watch.h"

static struct {
    char *text; /* shared with the parent; NULL where nobody reads it */
    size_t size;
} progress;

void check_set_progress(char *shared, size_t size)
{
    progress.text = shared;
    progress.size = size;
}

/* ---- failures ------------------------------------------------------------------------------ */

/* Cuts what does not fit. */
static void append(char *text, size_t size, const char *more)
{
    const size_t at = strlen(text), room = size - at - 1, length = strlen(more);
    memcpy(text + at, more, length < room ? length : room);
    text[at + (length < room ? length : room)] = 0;
}

bool check_fail(struct trial *trial, const char *format, ...)
{
    struct check_result *result = trial->checker->result;
    if (!result->ok)
        return false;
    result->ok = false;
    char problem[PARSE_TEXT];
    parse_print_problem(&trial->problem, problem);
    snprintf(result->phase, sizeof result->phase, "%s", trial->phase);
    const size_t size = sizeof result->why;
    const size_t at = (size_t)snprintf(result->why, size, "%s: ", trial->phase);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->why + at, size - at, format, arguments);
    va_end(arguments);
    append(result->why, size, "; problem ");
    append(result->why, size, problem);
    return false;
}

/* NaN has a sign, which says nothing. */
static double shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

/* "row (b 0, h 3, i 63) element 5: got 1, expected 0.5, bound 1e-6" */
bool check_fail_mismatch(struct trial *trial, const struct check_comparison *comparison)
{
    const struct check_mismatch *wrong = &comparison->first;
    const struct check_place at = check_place_of(&trial->problem, wrong->row);
    char reason[256], element[48] = "", special[48] = "";
    check_diagnose(trial, wrong, reason, sizeof reason);
    if (strcmp(wrong->tensor, "lse") != 0)
        snprintf(element, sizeof element, " element %zu", wrong->element);
    if (trial->needle_count)
        snprintf(special, sizeof special,
                 "at key %zu: ", check_needle(trial, at.b, attn_kv_head(&trial->problem, at.h)));
    return check_fail(trial,
                      "%s%s row (b %zu, h %zu, i %zu)%s: got %.9g, expected %.9g, bound %.3g "
                      "(%zu of %zu rows wrong)%s",
                      special, wrong->tensor, at.b, at.h, at.i, element, shown(wrong->got),
                      shown(wrong->expected), shown(wrong->bound), comparison->wrong_rows,
                      comparison->rows, reason);
}

size_t check_needle(const struct trial *trial, size_t b, size_t g)
{
    return trial->needles[(b * trial->problem.kv_heads + g) % trial->needle_count];
}

/* ---- memory -------------------------------------------------------------------------------- */

struct tensors_layout check_layout(unsigned turn)
{
    return (struct tensors_layout){
        .guard = turn % 2 ? TENSORS_GUARD_FRONT : TENSORS_GUARD_BACK,
        .row_padding = turn % 4 / 2 ? 3 : 0,
    };
}

/* The workspace ends (to its alignment) where an inaccessible page begins, and holds NaN. */
static void *map_workspace(struct trial *trial, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + page - 1) / page * page;
    trial->workspace_bytes = room + page;
    void *map = mmap(NULL, trial->workspace_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    trial->workspace = map;
    if (mprotect(trial->workspace + room, page, PROT_NONE) != 0)
        return NULL;
    memset(trial->workspace, 0xff, room);
    return trial->workspace + (room - bytes) / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN;
}

bool check_trial_open(struct trial *trial, struct checker *checker, const char *phase,
                      const struct attn_problem *problem, struct tensors_layout layout, int threads,
                      bool *unsupported)
{
    const char *why;
    char message[256];
    *trial = (struct trial){.checker = checker, .problem = *problem};
    snprintf(trial->phase, sizeof trial->phase, "%s", phase);
    *unsupported = !attn_supports(checker->kernel, problem, &why);
    if (*unsupported)
        return false;
    if (!tensors_alloc(&trial->set, problem, &layout, message, sizeof message))
        return check_fail(trial, "%s", message);
    const size_t bytes = attn_workspace_size(checker->kernel, problem, threads);
    void *workspace = map_workspace(trial, bytes);
    check_watch_begin(threads);
    if (!workspace) {
        check_fail(trial, "no memory for a workspace of %zu bytes", bytes);
    } else if (!attn_plan_init(&trial->plan, checker->kernel, problem, threads, workspace, bytes,
                               &why)) {
        check_fail(trial, "%s", why);
        trial->plan.kernel = NULL;
    } else if (check_watch_end(trial, threads, "the kernel's prepare")) {
        return true;
    }
    check_trial_close(trial);
    return false;
}

void check_trial_close(struct trial *trial)
{
    attn_plan_destroy(&trial->plan);
    if (trial->workspace)
        munmap(trial->workspace, trial->workspace_bytes);
    trial->workspace = NULL;
    tensors_free(&trial->set);
}

/* ---- running ------------------------------------------------------------------------------- */

static void say_progress(const struct trial *trial)
{
    char problem[PARSE_TEXT];
    if (!progress.text)
        return;
    parse_print_problem(&trial->problem, problem);
    snprintf(progress.text, progress.size, "checking: %s, guard page %s%s; problem %s",
             trial->phase, trial->set.layout.guard == TENSORS_GUARD_FRONT ? "in front" : "behind",
             trial->set.layout.row_padding ? ", rows padded" : "", problem);
}

bool check_trial_run(struct trial *trial)
{
    struct tensors_spot spot;
    say_progress(trial);
    tensors_poison(&trial->set, &trial->problem);
    check_watch_begin(trial->plan.threads);
    attn_execute(&trial->plan, &trial->set.tensors);
    if (!check_watch_end(trial, trial->plan.threads, "the kernel"))
        return false;
    const char *changed = tensors_changed(&trial->set, &trial->problem);
    if (changed)
        return check_fail(trial, "the kernel changed its operand %s", changed);
    if (!tensors_padding_intact(&trial->set, &trial->problem, &spot))
        return check_fail(trial, "the kernel wrote behind the end of %s row (b %zu, h %zu, i %zu)",
                          spot.tensor, spot.b, spot.h, spot.i);
    if (!tensors_written(&trial->set, &trial->problem, &spot))
        return check_fail(trial,
                          "the kernel left %s row (b %zu, h %zu, i %zu) element %zu unwritten",
                          spot.tensor, spot.b, spot.h, spot.i, spot.d);
    return true;
}

bool check_trial_judge_rows(struct trial *trial, const size_t *rows, size_t count, bool stored,
                            struct check_comparison *comparison)
{
    struct checker *checker = trial->checker;
    struct check_result *result = checker->result;
    if (!check_compare(checker->kernel, &trial->problem, &trial->set.tensors, rows, count,
                       checker->threads, stored, comparison))
        return check_fail(trial, "no memory to compare rows");
    result->rows += comparison->rows;
    if (comparison->over_bound > result->hardest_over_bound) {
        result->hardest_over_bound = comparison->over_bound;
        snprintf(result->hardest, sizeof result->hardest, "%s", trial->phase);
    }
    return !comparison->wrong_rows || check_fail_mismatch(trial, comparison);
}

bool check_trial_judge(struct trial *trial, size_t most)
{
    return check_trial_run(trial) && check_trial_look(trial, most);
}

bool check_trial_look(struct trial *trial, size_t most)
{
    struct check_comparison comparison;
    size_t *rows;
    const size_t count = check_pick_rows(&trial->problem, trial->checker->threads, most,
                                         trial->checker->trials, &rows);
    const bool right = rows ? check_trial_judge_rows(trial, rows, count, false, &comparison)
                            : check_fail(trial, "no memory to pick rows");
    free(rows);
    return right;
}
