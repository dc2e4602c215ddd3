/*
 * protocol: requests and answers to and from JSON.
 */
#include "protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/cell.h"
#include "system/process.h"

static const char *const actions[PROTOCOL_ACTION_COUNT] = {
    [PROTOCOL_PREPARE] = "prepare",   [PROTOCOL_CHECK] = "check",
    [PROTOCOL_MEASURE] = "measure",   [PROTOCOL_EVAL] = "eval",
    [PROTOCOL_CEILINGS] = "ceilings", [PROTOCOL_EXPERIMENT] = "experiment",
    [PROTOCOL_DESCRIBE] = "describe",
};

static const char *const files[PROTOCOL_FILE_COUNT] = {
    [PROTOCOL_OPERANDS] = "operands", [PROTOCOL_REFERENCE] = "reference",
    [PROTOCOL_TOPOLOGY] = "topology", [PROTOCOL_STATUS] = "progress",
    [PROTOCOL_OUTPUTS] = "outputs",
};

static const char *const depths[] = {[CHECK_ROWS] = "rows",
                                     [CHECK_CASE] = "case",
                                     [CHECK_FULL] = "full",
                                     [CHECK_THOROUGH] = "thorough"};
#define DEPTHS ((int)(sizeof depths / sizeof *depths))

const char *protocol_depth_name(enum check_depth depth)
{
    return depths[depth];
}

void protocol_kernel(struct protocol_request *request, const char *name, enum attn_isa isa,
                     const struct guest *guest)
{
    snprintf(request->kernel, sizeof request->kernel, "%s", name);
    snprintf(request->plugin, sizeof request->plugin, "%s", guest ? guest->path : "");
    snprintf(request->arguments, sizeof request->arguments, "%s", guest ? guest->arguments : "");
    snprintf(request->digest, sizeof request->digest, "%s", guest ? guest->digest : "");
    request->isa = isa;
    request->program = guest && guest->program;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Where process_run() puts the files in the child. */
static json_t *print_files(const struct protocol_request *request)
{
    json_t *object = json_object();
    for (int i = 0; i < PROTOCOL_FILE_COUNT; i++)
        if (request->files[i] >= 0)
            json_object_set_new(object, files[i], json_integer(PROCESS_FIRST_FILE_FD + i));
    return object;
}

static json_t *print_counts(const struct protocol_request *r)
{
    json_t *array = json_array();
    for (size_t k = 0; k < r->count; k++)
        json_array_append_new(
            array, json_pack("[i, I]", r->counts[k].threads, (json_int_t)r->counts[k].slot));
    return array;
}

char *protocol_print(const struct protocol_request *r)
{
    char problem[PARSE_TEXT], input[PARSE_TEXT];
    parse_print_problem(&r->c.problem, problem);
    parse_print_input(&r->c.input, input);
    json_t *line =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:b, s:b, s:o}",
                  "protocol", PROTOCOL_VERSION, "action", actions[r->action], "problem", problem,
                  "input", input, "case", r->c.name, "kernel", r->kernel, "isa",
                  attn_isa_name(r->isa), "threads", r->threads, "team", r->team, "placement",
                  machine_placement_name(r->placement), "memory", machine_memory_name(r->memory),
                  "huge_pages", (int)r->huge_pages, "cold", (int)r->cold, "files", print_files(r));
    json_t *rest = json_pack(
        "{s:I, s:I, s:o, s:s, s:I, s:f, s:f, s:f, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "sets",
        (json_int_t)r->sets, "shift", (json_int_t)r->shift, "counts", print_counts(r), "depth",
        depths[r->depth], "seed", (json_int_t)r->seed, "warmup_s", r->warmup_s, "sample_s",
        r->sample_s, "budget_s", r->budget_s, "max_samples", (json_int_t)r->max_samples, "path_in",
        r->path_in, "path_out", r->path_out, "experiment", r->experiment, "step", r->step, "plugin",
        r->plugin, "digest", r->digest, "program", (int)r->program);
    json_object_set_new(rest, "token", json_string(r->token));
    json_object_set_new(rest, "launch", json_integer((json_int_t)r->launch));
    json_object_set_new(rest, "arguments", json_string(r->arguments));
    char *text = NULL;
    if (line && rest && json_object_update(line, rest) == 0)
        text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    json_decref(rest);
    return text;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Index of `name` among `names`; -1 where it is none of them. */
static int index_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool copy(const char *from, char *to, size_t size)
{
    return snprintf(to, size, "%s", from) < (int)size;
}

/* The texts of a request into its struct; returns the name of one that is wrong. */
static const char *parse_texts(json_t *line, struct protocol_request *r)
{
    const char *action, *problem, *input, *name, *kernel, *isa, *placement, *depth, *in, *out;
    const char *experiment = "", *step = "", *plugin = "", *digest = "", *arguments = "";
    const char *memory = machine_memory_name(MEMORY_FIRST_TOUCH);
    struct parse_error error;
    if (json_unpack(line,
                    "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s?:s, s?:s, s?:s, s?:s, "
                    "s?:s, s?:s}",
                    "action", &action, "problem", &problem, "input", &input, "case", &name,
                    "kernel", &kernel, "isa", &isa, "placement", &placement, "depth", &depth,
                    "path_in", &in, "path_out", &out, "memory", &memory, "experiment", &experiment,
                    "step", &step, "plugin", &plugin, "digest", &digest, "arguments",
                    &arguments) != 0)
        return "a text";
    const int a = index_of(action, actions, PROTOCOL_ACTION_COUNT);
    const int d = index_of(depth, depths, DEPTHS);
    const struct {
        bool right;
        const char *what;
    } parts[] = {
        {a >= 0, "action"},
        {parse_problem(problem, &r->c.problem, &error), "problem"},
        {parse_input(input, &r->c.input, &error), "input"},
        {copy(name, r->c.name, sizeof r->c.name), "case"},
        {copy(kernel, r->kernel, sizeof r->kernel), "kernel"},
        {attn_isa_parse(isa, &r->isa), "isa"},
        {machine_placement_parse(placement, &r->placement), "placement"},
        {machine_memory_parse(memory, &r->memory), "memory"},
        {d >= 0, "depth"},
        {copy(in, r->path_in, sizeof r->path_in), "path_in"},
        {copy(out, r->path_out, sizeof r->path_out), "path_out"},
        {copy(experiment, r->experiment, sizeof r->experiment), "experiment"},
        {copy(step, r->step, sizeof r->step), "step"},
        {copy(plugin, r->plugin, sizeof r->plugin), "plugin"},
        {copy(digest, r->digest, sizeof r->digest), "digest"},
        {copy(arguments, r->arguments, sizeof r->arguments), "arguments"},
    };
    r->action = (enum protocol_action)a;
    r->depth = (enum check_depth)d;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].right)
            return parts[i].what;
    return NULL;
}

static const char *parse_numbers(json_t *line, struct protocol_request *r)
{
    json_int_t sets, shift, seed, max_samples, launch = 0;
    int cold, huge_pages = false, program = false;
    if (json_unpack(line, "{s:i, s:i, s:b, s?:b, s?:b, s:I, s:I, s:I, s:F, s:F, s:F, s:I, s?:I}",
                    "threads", &r->threads, "team", &r->team, "cold", &cold, "huge_pages",
                    &huge_pages, "program", &program, "sets", &sets, "shift", &shift, "seed", &seed,
                    "warmup_s", &r->warmup_s, "sample_s", &r->sample_s, "budget_s", &r->budget_s,
                    "max_samples", &max_samples, "launch", &launch) != 0)
        return "a number";
    r->cold = cold;
    r->huge_pages = huge_pages;
    r->program = program;
    r->sets = (size_t)sets;
    r->shift = (size_t)shift;
    r->seed = (uint64_t)seed;
    r->max_samples = (size_t)max_samples;
    r->launch = (size_t)launch;
    return r->threads < 1 ? "threads" : r->team < r->threads ? "team" : NULL;
}

/* Returns the name of what is wrong. */
static const char *parse_counts(json_t *line, struct protocol_request *r)
{
    const json_t *array = json_object_get(line, "counts");
    const size_t count = json_array_size(array);
    for (size_t k = 0; count <= CHECK_COUNTS && k < count; k++) {
        const json_t *pair = json_array_get(array, k);
        const json_int_t threads = json_integer_value(json_array_get(pair, 0));
        const json_int_t slot = json_integer_value(json_array_get(pair, 1));
        if (threads < 1 || threads > r->threads || slot < 0)
            return "thread count";
        r->counts[k] = (struct protocol_count){(int)threads, (size_t)slot};
    }
    r->count = count;
    return count > CHECK_COUNTS || (r->action == PROTOCOL_CHECK && !count) ? "thread count" : NULL;
}

static void parse_token(const json_t *line, struct protocol_request *r)
{
    const char *token = json_string_value(json_object_get(line, "token"));
    snprintf(r->token, sizeof r->token, "%s", token ? token : "");
}

static void parse_files(json_t *line, struct protocol_request *r)
{
    json_t *object = json_object_get(line, "files");
    for (int i = 0; i < PROTOCOL_FILE_COUNT; i++) {
        json_t *fd = json_object_get(object, files[i]);
        r->files[i] = fd ? (int)json_integer_value(fd) : -1;
    }
}

bool protocol_parse(const char *text, struct protocol_request *request, char *message,
                    size_t message_size)
{
    json_error_t error;
    const char *wrong = "JSON";
    *request = (struct protocol_request){0};
    json_t *line = json_loads(text, 0, &error);
    if (line) {
        wrong = json_integer_value(json_object_get(line, "protocol")) == PROTOCOL_VERSION
                    ? parse_texts(line, request)
                    : "protocol version";
        if (!wrong)
            wrong = parse_numbers(line, request);
        if (!wrong)
            wrong = parse_counts(line, request);
        parse_files(line, request);
        parse_token(line, request);
        json_decref(line);
    }
    if (wrong)
        snprintf(message, message_size, "request with a wrong %s", wrong);
    return !wrong;
}

/* Whether the answer repeats the token; it is then taken away. */
static bool take_token(json_t *answer, const char *token)
{
    const char *repeated = json_string_value(json_object_get(answer, "token"));
    const bool same = repeated && strcmp(repeated, token) == 0;
    json_object_del(answer, "token");
    return same;
}

json_t *protocol_answer(const char *text, const char *token, char *message, size_t message_size)
{
    json_error_t error;
    enum cell_state state;
    json_t *answer = json_loads(text, 0, &error);
    const char *wrong = NULL;
    if (!answer)
        wrong = "is not JSON";
    else if (json_integer_value(json_object_get(answer, "protocol")) != PROTOCOL_VERSION)
        wrong = "has another protocol version";
    else if (!cell_state_parse(json_string_value(json_object_get(answer, "state")), &state))
        wrong = "has no state";
    else if (!take_token(answer, token))
        wrong = "is not its own: the kernel wrote to descriptor 4";
    if (!wrong)
        return answer;
    snprintf(message, message_size, "the worker's answer %s", wrong);
    json_decref(answer);
    return NULL;
}
