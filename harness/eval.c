/*
 * eval: the parent's side; worker_eval has the computation.
 */
#include "eval.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "progress.h"
#include "select.h"
#include "session.h"

#define DEFAULT_DEADLINE_S 3600.0 /* the shapes are known to the worker only */

/* The one variant that the options name; false fills message. */
static bool pick(const struct options *options, const struct attn_problem *problem,
                 struct protocol_request *request, char *message, size_t size)
{
    struct selected selected[SELECT_MAX];
    size_t count;
    unsigned isas;
    if (!select_kernels(options->kernel, selected, &count, message, size) ||
        !select_isas(options->isa, &isas, message, size))
        return false;
    const unsigned variants = select_variants(&selected[0], isas, problem);
    if (count != 1 || __builtin_popcount(variants) != 1) {
        snprintf(message, size, "eval takes one kernel and one instruction set");
        return false;
    }
    request->isa = (enum attn_isa)__builtin_ctz(variants);
    snprintf(request->kernel, sizeof request->kernel, "%s", selected[0].name);
    return true;
}

/* What shapes do not say; without --problem a plain forward pass. */
static bool take_problem(const struct options *options, struct attn_problem *problem, char *message,
                         size_t size)
{
    struct parse_error error;
    attn_problem_init(problem);
    if (options->problem_count > 1) {
        snprintf(message, size, "eval takes one --problem");
        return false;
    }
    if (options->problem_count && !parse_problem(options->problems[0], problem, &error)) {
        snprintf(message, size, "--problem '%s': %s (position %zu)", options->problems[0],
                 error.message, error.position);
        return false;
    }
    return true;
}

static bool fill_request(const struct options *options, struct protocol_request *request,
                         char *message, size_t size)
{
    char *end = NULL;
    const long threads = options->threads ? strtol(options->threads, &end, 10) : 1;
    *request = (struct protocol_request){.action = PROTOCOL_EVAL, .placement = PLACEMENT_NONE};
    for (size_t i = 0; i < PROTOCOL_FILE_COUNT; i++)
        request->files[i] = -1;
    if (!options->kernel || !options->input || !options->output) {
        snprintf(message, size, "eval needs --kernel, --input and --output");
        return false;
    }
    if (threads < 1 || threads > 4096 || (end && *end)) {
        snprintf(message, size, "eval takes one number of --threads, not '%s'", options->threads);
        return false;
    }
    request->threads = request->team = (int)threads;
    return take_problem(options, &request->c.problem, message, size) &&
           pick(options, &request->c.problem, request, message, size);
}

/* Paths as the worker shall see them: it runs in the same directory. */
static bool set_paths(const struct options *options, struct protocol_request *request)
{
    const int in = snprintf(request->path_in, sizeof request->path_in, "%s", options->input);
    const int out = snprintf(request->path_out, sizeof request->path_out, "%s", options->output);
    return in < (int)sizeof request->path_in && out < (int)sizeof request->path_out;
}

int eval_command(const struct options *options, int argc, const char *const *argv)
{
    (void)argc;
    (void)argv;
    static const int codes[CELL_STATE_COUNT] = {
        [CELL_OK] = EXIT_AS_ASKED,         [CELL_UNSUPPORTED] = EXIT_USAGE,
        [CELL_UNAVAILABLE] = EXIT_USAGE,   [CELL_FAILED] = EXIT_KERNEL,
        [CELL_CRASHED] = EXIT_KERNEL,      [CELL_TIMEOUT] = EXIT_KERNEL,
        [CELL_SKIPPED] = EXIT_ENVIRONMENT,
    };
    struct protocol_request request;
    char message[1024];
    if (!fill_request(options, &request, message, sizeof message)) {
        progress_say("%s", message);
        return EXIT_USAGE;
    }
    if (!set_paths(options, &request)) {
        progress_say("a path is too long");
        return EXIT_USAGE;
    }
    process_catch_interrupts();
    const double deadline = options->timeout_s > 0 ? options->timeout_s : DEFAULT_DEADLINE_S;
    struct launch launch = launch_worker(&request, deadline);
    json_decref(launch.answer);
    if (launch.interrupted)
        return EXIT_INTERRUPTED;
    if (launch.state != CELL_OK)
        progress_say("%s/%s: %s: %s", request.kernel, attn_isa_name(request.isa),
                     cell_state_name(launch.state), launch.why);
    return codes[launch.state];
}
