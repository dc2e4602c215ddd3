/*
 * program_copy: starts copies of a program, binds them to problems and calls them.
 */
#include "program_copy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/members.h"
#include "session/launch.h"
#include "system/task.h"

/* Deadlines, seconds: docs/protocol.md states them. */
#define PREPARE_S 300.0

static struct program_copy copies[PROGRAM_COPIES];
static unsigned long uses;

/* ---- copies ---------------------------------------------------------------------------------- */

static void end_copy(struct program_copy *copy)
{
    process_close(copy->process);
    exchange_close(copy->file);
    *copy = (struct program_copy){.threads = 0};
}

void program_copy_close(void)
{
    for (size_t i = 0; i < PROGRAM_COPIES; i++)
        end_copy(&copies[i]);
}

/* Fills in the CPUs of a copy's team. */
static void find_cpus(struct worker *worker, struct program_copy *copy)
{
    const enum placement placement = worker->request.setting.placement;
    char message[256];
    copy->cpu_count = (size_t)copy->threads;
    if (placement == PLACEMENT_NONE)
        copy->cpu_count = task_cpus_own(copy->cpus, PROGRAM_CPUS);
    else if (copy->cpu_count > PROGRAM_CPUS)
        worker_abandon(worker, CELL_SKIPPED, "more than %d threads", PROGRAM_CPUS);
    else if (!machine_places(worker->machine, placement, copy->threads, copy->cpus,
                             MESSAGE(message)))
        worker_abandon(worker, CELL_SKIPPED, "%s", message);
}

static void start_copy(struct worker *worker, struct program_copy *copy, int threads)
{
    const struct protocol_request *r = &worker->request;
    struct program_environment environment;
    char why[512];
    const double start = clock_now();
    copy->threads = threads;
    find_cpus(worker, copy);
    program_request_environment(copy, r->setting.placement != PLACEMENT_NONE, &environment);
    if (!(copy->file = exchange_open(MESSAGE(why))))
        worker_abandon(worker, CELL_SKIPPED, "%s", why);
    const int file = exchange_file(copy->file);
    const struct process_spec spec = {.program = r->plugin,
                                      .arguments = program_request_arguments(r),
                                      .environment = environment.variables,
                                      .files = &file,
                                      .file_count = 1,
                                      .cpus = copy->cpus,
                                      .cpu_count = copy->cpu_count};
    copy->process = process_open(&spec);
    copy->start_s = clock_now() - start;
}

/* The copy with so many threads, started if there is none. */
static struct program_copy *copy_for(struct worker *worker, int threads)
{
    struct program_copy *oldest = &copies[0], *found = NULL;
    for (size_t i = 0; i < PROGRAM_COPIES; i++) {
        if (copies[i].threads == threads)
            found = &copies[i];
        if (copies[i].used < oldest->used)
            oldest = &copies[i];
    }
    if (!found) {
        end_copy(oldest);
        start_copy(worker, found = oldest, threads);
    }
    found->used = ++uses;
    return found;
}

/* ---- prepare --------------------------------------------------------------------------------- */

void program_copy_stays(struct worker *worker, const struct program_copy *copy)
{
    char why[256];
    if (!task_cpus_within(process_pid(copy->process), copy->cpus, copy->cpu_count, MESSAGE(why)))
        worker_give_up(worker, CELL_FAILED, "the program does not stay on its CPUs: %s", why);
}

/* Whether the program's answer states the requested threads and CPUs; false fills why. */
static bool runs_as_asked(const struct program_copy *copy, const json_t *answer, struct message why)
{
    const json_int_t runs = json_integer_value(json_object_get(answer, "threads"));
    const json_t *cpus = json_object_get(answer, "cpus");
    if (runs != copy->threads)
        return refuse(why, "was asked for %d thread%s, runs %lld", copy->threads,
                      copy->threads > 1 ? "s" : "", (long long)runs);
    for (size_t i = 0; i < json_array_size(cpus); i++) {
        const json_int_t cpu = json_integer_value(json_array_get(cpus, i));
        size_t known = 0;
        while (known < copy->cpu_count && copy->cpus[known] != cpu)
            known++;
        if (known == copy->cpu_count)
            return refuse(why, "runs on CPU %lld, which is not one of the team's", (long long)cpu);
    }
    message_print(why, "does not say on which CPUs it runs");
    return json_array_size(cpus) > 0;
}

static void prepare(struct worker *worker, struct program_copy *copy,
                    const struct attn_problem *problem, const struct attn_tensors *tensors,
                    const char *text)
{
    const struct protocol_request *r = &worker->request;
    const bool timed = r->action == PROTOCOL_MEASURE;
    const size_t sets = timed ? r->sets : 1;
    struct tensors_shape shape =
        tensors_shape_most(problem, tensors); /* for all shapes of a check */
    char message[256];
    copy->prepared[0] = copy->refusal[0] = 0;
    copy->extras.count = 0;
    copy->changed = true;
    if ((timed && !tensors_shape_of(&r->c, &shape, MESSAGE(message))) ||
        !exchange_arrange(copy->file, problem, &shape, sets, timed ? r->shift : 0,
                          MESSAGE(message)))
        worker_abandon(worker, CELL_SKIPPED, "%s", message);
    const double start = clock_now();
    json_t *answer =
        program_request_demand(worker, copy, program_request_prepare(r, copy, problem, text, sets),
                               PREPARE_S, MESSAGE(copy->refusal));
    copy->prepare_s = clock_now() - start;
    snprintf(copy->library, sizeof copy->library, "%s", member_text(answer, "library"));
    const bool right = !answer || runs_as_asked(copy, answer, MESSAGE(message));
    json_decref(answer);
    if (!right)
        worker_give_up(worker, CELL_FAILED, "the program %s", message);
    program_copy_stays(worker, copy);
    snprintf(copy->prepared, sizeof copy->prepared, "%s", text);
}

struct program_copy *program_copy_bind(struct worker *worker, const struct attn_problem *problem,
                                       const struct attn_tensors *tensors, int threads)
{
    char text[PARSE_TEXT];
    struct program_copy *copy = copy_for(worker, threads);
    parse_print_problem(problem, text);
    if (strcmp(copy->prepared, text) != 0 || (tensors && !exchange_holds(copy->file, tensors)))
        prepare(worker, copy, problem, tensors, text);
    return copy;
}

/* ---- calls ----------------------------------------------------------------------------------- */

void program_copy_give(struct program_copy *copy, size_t slot, const struct attn_tensors *from)
{
    exchange_write(copy->file, slot, from);
    copy->changed = true;
}

/* A request to compute, which states whether operands have changed since the last one. */
static json_t *call(struct program_copy *copy, const char *action)
{
    json_t *request = program_request_plain(action);
    json_object_set_new(request, "changed", json_boolean(copy->changed));
    copy->changed = false;
    return request;
}

void program_copy_execute(struct worker *worker, struct program_copy *copy, size_t slot)
{
    json_t *request = call(copy, "execute");
    json_object_set_new(request, "set", json_integer((json_int_t)slot));
    json_decref(program_request_demand(worker, copy, request,
                                       launch_deadline(&worker->request.c.problem, 1),
                                       (struct message){0}));
}

struct program_time program_copy_measure(struct worker *worker, struct program_copy *copy,
                                         size_t calls, size_t first)
{
    struct program_time time = {0};
    json_t *request = call(copy, "measure");
    json_object_set_new(request, "calls", json_integer((json_int_t)calls));
    json_object_set_new(request, "first", json_integer((json_int_t)first));
    const double start = clock_now();
    json_t *answer = program_request_demand(
        worker, copy, request, launch_deadline(&worker->request.c.problem, (double)calls),
        (struct message){0});
    time.wall_s = clock_now() - start;
    const json_t *seconds = json_object_get(answer, "seconds");
    time.program_s = json_is_number(seconds) ? json_number_value(seconds) : -1;
    char wrong[PROGRAM_NAME + 16] = "";
    const char *name =
        calls ? program_extras_add(&copy->extras, json_object_get(answer, "extra"), (double)calls)
              : NULL;
    snprintf(wrong, sizeof wrong, "%s", name ? name : "");
    json_decref(answer);
    if (time.program_s < 0)
        worker_give_up(worker, CELL_CRASHED, "the program does not say how long its calls took");
    if (*wrong)
        worker_give_up(worker, CELL_FAILED,
                       "the program's extra '%s' is not one of at most %d numbers with names of "
                       "a-z, 0-9 and _",
                       wrong, PROGRAM_EXTRAS);
    return time;
}

/* A rate in an answer; ends the launch if there is none. */
static double rate_of(struct worker *worker, const json_t *answer, const char *key)
{
    const double rate = member_number(answer, key);
    if (!(rate > 0))
        worker_give_up(worker, CELL_FAILED, "the program gives no %s among its ceilings", key);
    return rate;
}

struct program_ceilings program_copy_ceilings(struct worker *worker, struct program_copy *copy,
                                              double seconds, double bytes)
{
    const struct protocol_request *r = &worker->request;
    const struct attn_problem *p = &r->c.problem;
    struct program_ceilings ceilings = {.fma_host_gflops = NAN, .read_gbytes_per_s = NAN};
    json_t *request = program_request_plain("ceilings");
    json_object_set_new(request, "isa", json_string(attn_isa_name(r->isa)));
    json_object_set_new(request, "compute",
                        json_string(attn_dtype_name(attn_compute(worker->kernel, p))));
    json_object_set_new(request, "dtype", json_string(attn_dtype_name(p->dtype)));
    json_object_set_new(request, "seconds", json_real(seconds));
    json_object_set_new(request, "bytes", json_real(bytes));
    json_t *answer = program_request_demand(
        worker, copy, request, launch_deadline(&worker->request.c.problem, 0), (struct message){0});
    ceilings.fma_gflops = rate_of(worker, answer, "fma_gflops");
    if (bytes > 0) {
        ceilings.fma_host_gflops = rate_of(worker, answer, "fma_host_gflops");
        ceilings.read_gbytes_per_s = rate_of(worker, answer, "read_gbytes_per_s");
    }
    json_decref(answer);
    return ceilings;
}
