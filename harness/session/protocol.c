/*
 * protocol: prints and parses requests and answers as JSON.
 */
#include "protocol.h"

#include <stdio.h>
#include <string.h>

#include "base/members.h"
#include "results/cell.h"
#include "system/process.h"

static const char *const actions[] = {
    [PROTOCOL_PREPARE] = "prepare",   [PROTOCOL_CHECK] = "check",
    [PROTOCOL_MEASURE] = "measure",   [PROTOCOL_EVAL] = "eval",
    [PROTOCOL_CEILINGS] = "ceilings", [PROTOCOL_EXPERIMENT] = "experiment",
    [PROTOCOL_DESCRIBE] = "describe", [PROTOCOL_ACTION_COUNT] = NULL,
};

static const char *const files[PROTOCOL_FILE_COUNT] = {
    [PROTOCOL_OPERANDS] = "operands", [PROTOCOL_REFERENCE] = "reference",
    [PROTOCOL_COMPUTED] = "computed", [PROTOCOL_TOPOLOGY] = "topology",
    [PROTOCOL_STATUS] = "progress",   [PROTOCOL_OUTPUTS] = "outputs",
};

static const char *const depths[] = {
    [CHECK_CASE] = "case",
    [CHECK_FULL] = "full",
    [CHECK_THOROUGH] = "thorough",
    [CHECK_INVARIANT] = "invariant",
    NULL,
};

#define FIELD(name, ...) MEMBER(protocol_request, name, __VA_ARGS__)
#define SETTING(name, ...) MEMBER_AT(protocol_request, setting.name, #name, __VA_ARGS__)

/* Members with the same name in the struct and in JSON. */
static const struct member fields[] = {
    FIELD(action, MEMBER_WORD, actions),
    FIELD(kernel, MEMBER_TEXT),
    FIELD(plugin, MEMBER_TEXT),
    FIELD(arguments, MEMBER_TEXT),
    FIELD(digest, MEMBER_TEXT),
    FIELD(program, MEMBER_BOOL),
    FIELD(threads, MEMBER_INT),
    FIELD(team, MEMBER_INT),
    SETTING(placement, MEMBER_WORD, machine_placements),
    SETTING(memory, MEMBER_WORD, machine_memories),
    SETTING(huge_pages, MEMBER_BOOL),
    SETTING(cold, MEMBER_BOOL),
    FIELD(sets, MEMBER_LONG),
    FIELD(shift, MEMBER_LONG),
    FIELD(depth, MEMBER_WORD, depths),
    FIELD(seed, MEMBER_LONG),
    FIELD(launch, MEMBER_LONG),
    FIELD(warmup_s, MEMBER_REAL),
    FIELD(sample_s, MEMBER_REAL),
    FIELD(budget_s, MEMBER_REAL),
    FIELD(max_samples, MEMBER_LONG),
    FIELD(path_in, MEMBER_TEXT),
    FIELD(path_out, MEMBER_TEXT),
    FIELD(experiment, MEMBER_TEXT),
    FIELD(step, MEMBER_TEXT),
    FIELD(token, MEMBER_TEXT),
};
#define FIELDS (sizeof fields / sizeof *fields)

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

/* The descriptors at which process_run() puts the files in the child. */
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
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o}", "protocol", PROTOCOL_VERSION, "problem",
                  problem, "input", input, "case", r->c.name, "isa", attn_isa_name(r->isa),
                  "counts", print_counts(r), "files", print_files(r));
    char *text = NULL;
    if (line && members_print(fields, FIELDS, r, line))
        text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    return text;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Parses problem, input, case and instruction set; returns the name of what is wrong. */
static const char *parse_case(json_t *line, struct protocol_request *r)
{
    const char *problem, *input, *name, *isa;
    struct parse_error error;
    if (json_unpack(line, "{s:s, s:s, s:s, s:s}", "problem", &problem, "input", &input, "case",
                    &name, "isa", &isa) != 0)
        return "problem, input, case or isa";
    return !parse_problem(problem, &r->c.problem, &error)                               ? "problem"
           : !parse_input(input, &r->c.input, &error)                                   ? "input"
           : snprintf(r->c.name, sizeof r->c.name, "%s", name) >= (int)sizeof r->c.name ? "case"
           : !attn_isa_parse(isa, &r->isa)                                              ? "isa"
           : r->threads < 1                                                             ? "threads"
           : r->team < r->threads                                                       ? "team"
                                                                                        : NULL;
}

/* Parses the thread counts; returns the name of what is wrong. */
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

static void parse_files(json_t *line, struct protocol_request *r)
{
    json_t *object = json_object_get(line, "files");
    for (int i = 0; i < PROTOCOL_FILE_COUNT; i++) {
        json_t *fd = json_object_get(object, files[i]);
        r->files[i] = fd ? (int)json_integer_value(fd) : -1;
    }
}

bool protocol_parse(const char *text, struct protocol_request *request, struct message message)
{
    json_error_t error;
    const char *wrong = "JSON";
    *request = (struct protocol_request){0};
    json_t *line = json_loads(text, 0, &error);
    if (line) {
        wrong = json_integer_value(json_object_get(line, "protocol")) == PROTOCOL_VERSION
                    ? members_parse(fields, FIELDS, line, request)
                    : "protocol";
        if (!wrong)
            wrong = parse_case(line, request);
        if (!wrong)
            wrong = parse_counts(line, request);
        parse_files(line, request);
        json_decref(line);
    }
    if (wrong)
        message_print(message, "request whose \"%s\" is missing or wrong", wrong);
    return !wrong;
}

json_t *protocol_answer(const char *text, const char *token, struct message message)
{
    json_error_t error;
    enum cell_state state;
    json_t *answer = json_loads(text, 0, &error);
    const char *wrong = NULL;
    if (!answer)
        wrong = "is not JSON";
    else if (json_integer_value(json_object_get(answer, "protocol")) != PROTOCOL_VERSION)
        wrong = "has another protocol version";
    else if (!cell_state_parse(member_text(answer, "state"), &state))
        wrong = "has no state";
    else if (strcmp(member_text(answer, "token"), token) != 0)
        wrong = "was not written by it: the kernel wrote to descriptor 4";
    json_object_del(answer, "token");
    if (!wrong)
        return answer;
    message_print(message, "the worker's answer %s", wrong);
    json_decref(answer);
    return NULL;
}
