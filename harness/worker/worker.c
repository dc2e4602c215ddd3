/*
 * worker: from a request to its answer.
 */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "backend.h"
#include "check/check.h"
#include "experiments/experiment.h"
#include "problem/tensors.h"
#include "session/guest_file.h"
#include "system/aftermath.h"
#include "system/fault.h"
#include "system/process.h"

#define REQUEST_MAX ((size_t)65536) /* bytes */

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The topology that the parent discovered, free() it; NULL: the parent passed none. */
static char *read_topology(int fd)
{
    struct stat status;
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && (text = calloc(1, (size_t)status.st_size + 1)))
        if (pread(fd, text, (size_t)status.st_size, 0) != status.st_size)
            *text = 0;
    return text;
}

/* Opens the machine and binds the threads; false: worker_end() was called. */
static bool open_machine(struct worker *worker)
{
    char message[256] = "";
    char *topology = read_topology(worker->request.files[PROTOCOL_TOPOLOGY]);
    worker_stage("binding threads");
    worker->machine = machine_open(topology, MESSAGE(message));
    free(topology);
    if (worker->machine && machine_bind(worker->machine, worker->request.setting.placement,
                                        worker->request.team, MESSAGE(message)))
        return true;
    worker_end(worker, CELL_SKIPPED, "%s", message);
    return false;
}

static bool share_progress(int fd)
{
    if (fd < 0)
        return true;
    char *progress = mmap(NULL, PROTOCOL_PROGRESS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (progress == MAP_FAILED)
        return false;
    fault_share(progress, PROTOCOL_PROGRESS);
    return true;
}

/* ---- actions --------------------------------------------------------------------------------- */

/* Fills a case's operands and computes their reference, once for all workers. */
static void prepare(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char message[256] = "";
    struct attn_work work;
    const double start = clock_now();
    worker_stage("filling operands");
    if (!tensors_fill_file(&r->c, r->sets, r->files[PROTOCOL_OPERANDS], MESSAGE(message))) {
        worker_end(worker, CELL_SKIPPED, "operands: %s", message);
        return;
    }
    if (tensors_file_work(r->files[PROTOCOL_OPERANDS], &work))
        json_object_set_new(
            worker->answer, "work",
            json_pack("{s:f, s:f}", "useful_flops", work.flops, "compulsory_bytes", work.bytes));
    worker_stage("computing the reference");
    if (r->files[PROTOCOL_REFERENCE] >= 0 &&
        !stored_reference_create(&r->c, r->files[PROTOCOL_REFERENCE], MESSAGE(message)))
        worker_end(worker, CELL_SKIPPED, "reference: %s", message);
    json_object_set_new(worker->answer, "filled_s", number_json(clock_now() - start));
}

/* One step of an experiment. */
static void experiment(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    const struct experiment *its = experiment_find(r->experiment);
    const struct calculation *calculation = its ? its->calculation : NULL;
    struct experiment_work work = {.threads = r->threads, .message = "out of memory"};
    json_t *step = json_loads(r->step, 0, NULL), *rows = json_array();
    worker_stage("computing");
    if (!calculation || !step)
        worker_end(worker, CELL_SKIPPED, "no experiment %s with such a step", r->experiment);
    else if (calculation->compute(step, rows, &work))
        json_object_set(worker->answer, "rows", rows);
    else
        worker_end(worker, CELL_SKIPPED, "%s", work.message);
    experiment_free(&work);
    json_decref(rows);
    json_decref(step);
}

/* Describes a plug-in, or answers whether a kernel's library is installed. */
static void describe(struct worker *worker)
{
    char why[CELL_WHY] = "";
    enum cell_state state;
    if (!worker->backend->describe(worker, &state, MESSAGE(why)))
        worker_end(worker, state, "%s", why);
}

static const struct {
    void (*run)(struct worker *worker);
    bool kernel; /* needs a kernel */
    bool alone;  /* needs no machine */
} actions[PROTOCOL_ACTION_COUNT] = {
    [PROTOCOL_PREPARE] = {prepare, false, false},
    [PROTOCOL_CHECK] = {worker_check, true, false},
    [PROTOCOL_MEASURE] = {worker_measure, true, false},
    [PROTOCOL_EVAL] = {worker_eval, true, false},
    [PROTOCOL_CEILINGS] = {worker_ceilings, false, false},
    [PROTOCOL_EXPERIMENT] = {experiment, false, false},
    [PROTOCOL_DESCRIBE] = {describe, false, true},
};

/* Whether a guest's file still has the digest that the session was planned with; false: worker_end() was
 * called. Tested before it is loaded and after the action, as it may be replaced or overwritten in
 * between. */
static bool same_file(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    struct guest now;
    char why[320];
    if (!*r->digest)
        return true;
    snprintf(now.path, sizeof now.path, "%s", r->plugin);
    guest_file_read(&now, MESSAGE(why));
    if (strcmp(now.digest, r->digest) == 0)
        return true;
    worker_end(worker, CELL_SKIPPED, "%s has changed since the session began", r->plugin);
    return false;
}

/* Runs the action to its end, or until it is abandoned. */
static void run(struct worker *worker)
{
    if (setjmp(worker->abandoned) == 0)
        actions[worker->request.action].run(worker);
    if (worker->backend->close)
        worker->backend->close();
}

/* Loads the request's kernel; false: worker_end() was called, also if loading has changed the process's
 * state. */
static bool load_kernel(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char why[CELL_WHY] = "", left[AFTERMATH_TEXT];
    const char *missing;
    const bool foreign = *r->plugin && worker->backend->here;
    if (foreign)
        aftermath_begin(1);
    worker->kernel = worker->backend->open(worker, MESSAGE(why));
    if (foreign && !aftermath_end(1, left)) {
        worker_end(worker, CELL_FAILED, "loading the plug-in %s", left);
        return false;
    }
    if (!worker->kernel && !actions[r->action].kernel)
        return true;
    if (worker->kernel && attn_load(worker->kernel, &missing))
        return true;
    worker_end(worker, CELL_UNAVAILABLE, "%s", worker->kernel ? missing : why);
    return false;
}

static void act(struct worker *worker)
{
    const double start = clock_now();
    if (actions[worker->request.action].alone) {
        actions[worker->request.action].run(worker);
        return;
    }
    if (load_kernel(worker) && open_machine(worker)) {
        json_object_set_new(worker->answer, "open_s", number_json(clock_now() - start));
        run(worker);
    }
    if (worker->machine)
        machine_close(worker->machine);
}

/* ---- request and answer ---------------------------------------------------------------------- */

static bool read_request(char *line)
{
    size_t length = 0;
    ssize_t n = 1;
    while (n > 0 && length < REQUEST_MAX && !memchr(line, '\n', length)) {
        n = read(PROCESS_REQUEST_FD, line + length, REQUEST_MAX - length);
        length += n > 0 ? (size_t)n : 0;
    }
    char *end = memchr(line, '\n', length);
    if (end)
        *end = 0;
    return end;
}

static bool write_answer(const json_t *answer)
{
    FILE *out = fdopen(PROCESS_ANSWER_FD, "w");
    bool written = out && json_dumpf(answer, out, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0;
    written = written && fputc('\n', out) != EOF;
    return out && fclose(out) == 0 && written;
}

int worker_main(void)
{
    static char line[REQUEST_MAX];
    static struct worker worker;
    char message[256] = "nothing";
    if (!read_request(line) || !protocol_parse(line, &worker.request, MESSAGE(message))) {
        fprintf(stderr, "attnbench worker: expected a request on descriptor %d, got %s\n",
                PROCESS_REQUEST_FD, message);
        return 2;
    }
    memset(line, 0, sizeof line); /* with the token, which kernels must not know */
    if (!share_progress(worker.request.files[PROTOCOL_STATUS]))
        return 3;
    worker.answer = json_pack("{s:i, s:s, s:s, s:n}", "protocol", PROTOCOL_VERSION, "token",
                              worker.request.token, "state", "ok", "why");
    worker.backend = worker.request.program ? &in_program_backend : &in_process_backend;
    if (same_file(&worker)) {
        act(&worker);
        same_file(&worker);
    }
    const bool written = write_answer(worker.answer);
    json_decref(worker.answer);
    return written ? 0 : 3;
}
