/*
 * eval: the parent's side; worker_eval has the computation.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/launch.h"
#include "base/progress.h"
#include "base/message.h"
#include "problem/operands_file.h"
#include "base/piece.h"
#include "problem/select.h"
#include "session/guests.h"
#include "session/record.h"
#include "session/session.h"
#include "system/process.h"

/* The one variant that the options name; false fills message. */
static bool pick(const struct options *options, const struct attn_problem *problem,
                 struct protocol_request *request, struct message message)
{
    struct selected selected[SELECT_MAX];
    size_t count;
    unsigned isas;
    if (!select_kernels(options->kernel, selected, &count, message) ||
        !select_isas(options->isa, &isas, message))
        return false;
    if (count && strcmp(selected[0].name, SELECT_BEST) == 0)
        return refuse(message, "eval takes a kernel by its name");
    const unsigned variants = count ? select_variants(&selected[0], isas, problem) : 0;
    if (!count)
        return refuse(message, "no kernel %s", options->kernel);
    if (count != 1 || __builtin_popcount(variants) != 1)
        return refuse(message, "eval takes one kernel and one instruction set");
    const enum attn_isa isa = (enum attn_isa)__builtin_ctz(variants);
    const struct attn_kernel *kernel = catalogue_find(selected[0].name, isa);
    protocol_kernel(request, selected[0].name, isa, kernel ? catalogue_guest(kernel) : NULL);
    return true;
}

/* Parses --problem: options that the file's tensors cannot express, and sizes that they must match.  Without
 * it the problem is attention without mask or options. */
static bool parse_problem_option(const struct options *options, struct attn_problem *problem,
                                 struct message message)
{
    struct parse_error error;
    attn_problem_init(problem);
    if (options->problem_count > 1)
        return refuse(message, "eval takes one --problem");
    if (options->problem_count && !parse_problem_of_file(options->problems[0], problem, &error))
        return refuse(message, "--problem '%s': %s (position %zu)", options->problems[0],
                      error.message, error.position);
    return true;
}

static bool fill_request(const struct options *options, struct protocol_request *request,
                         struct message message)
{
    *request = (struct protocol_request){
        .action = PROTOCOL_EVAL, .setting.placement = PLACEMENT_NONE, .files = PROTOCOL_NO_FILES};
    if (!options->kernel || !options->input || !options->output)
        return refuse(message, "eval needs --kernel, --input and --output");
    request->threads = request->team = (int)options->team;
    return parse_problem_option(options, &request->c.problem, message);
}

/* ---- the input ------------------------------------------------------------------------------- */

/* Replaces /dev/stdout and its like, which would be the worker's own, by a name through which the worker
 * opens this process's descriptor. */
static int of_this_process(const char *path, char *named, size_t size)
{
    static const struct {
        const char *name, *descriptor; /* NULL: the rest of the path */
    } names[] = {{"/dev/stdout", "1"},
                 {"/dev/stderr", "2"},
                 {"/dev/fd/", NULL},
                 {PROCESS_DESCRIPTORS, NULL}};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const size_t length = strlen(names[n].name);
        const char *number = names[n].descriptor ? names[n].descriptor : path + length;
        if (names[n].descriptor ? strcmp(path, names[n].name) == 0
                                : strncmp(path, names[n].name, length) == 0)
            return process_descriptor(number, named, size);
    }
    return snprintf(named, size, "%s", path);
}

/* Splits FILE:PREFIX at the last colon, unless a file has the whole name.  Searches the folders that inputs
 * of cases are searched in. */
static bool set_paths(const struct options *options, struct protocol_request *request,
                      struct message message)
{
    char path[CASES_PATH];
    const char *colon = strrchr(options->input, ':');
    if (!colon || cases_find_file(options->input, path, message))
        colon = options->input + strlen(options->input);
    const int out = of_this_process(options->output, request->path_out, sizeof request->path_out);
    struct input *input = &request->c.input;
    message_print(message, "a path or prefix is too long");
    if (out >= (int)sizeof request->path_out ||
        !piece_copy(piece_from(options->input, colon), path, sizeof path) ||
        !piece_copy(piece_from(colon + (*colon == ':'), colon + strlen(colon)), input->prefix,
                    sizeof input->prefix))
        return false;
    cases_find_file(path, request->path_in, message); /* a failure is reported later */
    input->kind = INPUT_FILE;
    snprintf(input->path, sizeof input->path, "-"); /* path_in has more room */
    return true;
}

/* Whether output and input are the same file, by whatever names; false for devices. */
static bool writes_over(const struct protocol_request *request, struct message message)
{
    struct stat in, out;
    if (stat(request->path_in, &in) != 0 || stat(request->path_out, &out) != 0 ||
        !S_ISREG(in.st_mode) || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return false;
    message_print(message, "--output %s is the input, which it would write over",
                  request->path_out);
    return true;
}

/* Completes the problem from an open file; returns EXIT_AS_ASKED, or another code and its message. */
static int complete(const struct operands_file *file, const char *text, struct attn_problem *p)
{
    const char *why;
    char differs[2 * PARSE_TEXT];
    struct tensors_shape shape;
    if (!operands_complete(file, text, p))
        return EXIT_ENVIRONMENT;
    if (text && !parse_agrees_with_file(text, p, MESSAGE(differs))) {
        message_print(file->message, "--problem %s in %s", differs, file->path);
        return EXIT_USAGE;
    }
    if (!attn_problem_valid(p, &why)) {
        message_print(file->message, "%s: %s", file->path, why);
        return EXIT_ENVIRONMENT;
    }
    return operands_file_shape(file, p, &shape) ? EXIT_AS_ASKED : EXIT_ENVIRONMENT;
}

/* ---- likely mistakes of a user --------------------------------------------------------------- */

#define NAMES 256 /* bytes of a list of kernels */

/* The kernels that compute in double, separated by commas. */
static void double_kernels(char names[NAMES])
{
    const struct attn_kernel *kernel;
    const char *last = "";
    *names = 0;
    for (size_t i = 0; (kernel = catalogue_at(i)); i++)
        if (kernel->caps.dtypes & 1u << ATTN_F64 && strcmp(kernel->name, last) != 0) {
            last = kernel->name;
            message_add(names, NAMES, "%s%s", *names ? ", " : "", last);
        }
}

/* Whether all numbers are 0 or 1, and some are 1. */
static bool of_zeros_and_ones(const struct safetensor *t)
{
    size_t count = 1;
    bool one = false;
    for (size_t n = 0; n < t->rank; n++)
        count *= t->shape[n];
    for (size_t n = 0; n < count; n++) {
        const double x = safetensors_get(t, n);
        if (x != 0 && x != 1)
            return false;
        one |= x == 1;
    }
    return one;
}

static void note(const struct operands_file *file, const char *text, const struct attn_problem *p)
{
    const struct safetensor *q = operands_named(file, OPERAND_Q);
    const struct safetensor *mask = operands_named(file, OPERAND_MASK);
    char kernels[NAMES];
    if (q && q->dtype == ATTN_F64 && !parse_gives(text, "dtype")) {
        double_kernels(kernels);
        progress_say("%s is f64 and is computed in f32; with --problem dtype=f64 in double, by %s",
                     q->name, kernels);
    }
    if (mask && p->mask & ATTN_MASK_BIAS && !(p->mask & ATTN_MASK_BOOL) && of_zeros_and_ones(mask))
        progress_say("%s has zeros and ones alone and is added to the scores; for a boolean mask, "
                     "1 = attend, store bool",
                     mask->name);
}

static int read_problem(const struct options *options, struct protocol_request *r,
                        struct message message)
{
    char found[CASES_PATH];
    if (!cases_find_file(r->path_in, found, message))
        return EXIT_ENVIRONMENT;
    struct safetensors *opened = safetensors_open(r->path_in, message);
    const struct operands_file file = {opened, r->path_in, r->c.input.prefix, message};
    const char *text = options->problem_count ? options->problems[0] : NULL;
    const int code = opened ? complete(&file, text, &r->c.problem) : EXIT_ENVIRONMENT;
    if (code == EXIT_AS_ASKED)
        note(&file, text, &r->c.problem);
    safetensors_close(opened);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Fills the request to the worker; returns EXIT_AS_ASKED, or another code and its message. */
static int prepare(const struct options *options, struct protocol_request *request,
                   struct message message)
{
    if (!fill_request(options, request, message) || !set_paths(options, request, message) ||
        writes_over(request, message))
        return EXIT_USAGE;
    if (!safetensors_writable(request->path_out, message))
        return EXIT_ENVIRONMENT;
    const int code = read_problem(options, request, message);
    return code != EXIT_AS_ASKED || pick(options, &request->c.problem, request, message)
               ? code
               : EXIT_USAGE;
}

int eval_command(const struct options *options)
{
    struct protocol_request request;
    char message[CASES_PATH + 2048];
    process_catch_interrupts();
    const int loaded = guests_load(options->plugins, options->plugin_count, options->kernel,
                                   options->timeout_s, MESSAGE(message));
    if (loaded == EXIT_INTERRUPTED)
        return EXIT_INTERRUPTED;
    const int prepared =
        loaded == EXIT_AS_ASKED ? prepare(options, &request, MESSAGE(message)) : loaded;
    if (prepared != EXIT_AS_ASKED) {
        progress_say("%s", message);
        return guests_code(true) == EXIT_AS_ASKED ? prepared : guests_code(true);
    }
    const double deadline =
        options->timeout_s > 0 ? options->timeout_s : launch_deadline(&request.c.problem, 1);
    struct launch launch = launch_worker(&request, deadline);
    const char *isa = attn_isa_name(request.isa);
    if (launch.log)
        progress_say("%s/%s printed:\n%s", request.kernel, isa, launch.log);
    if (!launch.interrupted && launch.state != CELL_OK)
        progress_say("%s/%s: %s: %s", request.kernel, isa, cell_state_name(launch.state),
                     launch.why);
    if (launch.state == CELL_UNSUPPORTED && request.c.problem.dtype == ATTN_F64) {
        char kernels[NAMES];
        double_kernels(kernels);
        progress_say("kernels that compute in f64: %s", kernels);
    }
    launch_free(&launch);
    if (launch.interrupted)
        return EXIT_INTERRUPTED;
    if (launch.state == CELL_UNSUPPORTED || launch.state == CELL_UNAVAILABLE)
        return EXIT_USAGE;
    return launch.state == CELL_OK ? guests_code(true) : record_code(launch.state);
}
