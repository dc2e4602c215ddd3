/*
 * model_cases: from models and lengths to cases and passes.
 */
#include "model_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/refuse.h"
#include "case_text.h"
#include "models.h"
#include "sweep.h"

#define MOST_NUMBERS 64                 /* of a list */
#define MOST_LENGTH ((uint64_t)1 << 40) /* tokens */

/* Lists of --prefill, --decode and --batch. */
struct numbers {
    size_t of[MOST_NUMBERS], count;
};

/* What is computed: a pass over `length` tokens, or a token on that many keys, of each sequence. */
struct asked {
    bool prefill;
    size_t length, batch;
};

/* ---- numbers --------------------------------------------------------------------------------- */

static bool read_item(const char *option, struct piece item, struct numbers *numbers, char *message,
                      size_t size)
{
    char value[SWEEP_VALUE], quoted[SCAN_QUOTED];
    struct piece at = item;
    const char *why = NULL;
    size_t values;
    uint64_t n = 0;
    bool read = sweep_count(item, &values, &at, &why);
    for (size_t i = 0; read && i < values; i++) {
        read = sweep_value(item, i, value);
        at = read ? (struct piece){value, strlen(value)} : item;
        why = "is too long";
        read = read && scan_count(at, MOST_LENGTH, &n, &why);
        why = read && !n ? "is less than 1" : why;
        read = read && n;
        if (read && numbers->count == MOST_NUMBERS)
            return refuse(message, size, "--%s takes at most %d numbers", option, MOST_NUMBERS);
        if (read)
            numbers->of[numbers->count++] = n;
    }
    return read || refuse(message, size, "--%s takes numbers and ranges of them: %s %s", option,
                          scan_quote(at, quoted), why);
}

static bool read_numbers(const char *option, const char *text, struct numbers *numbers,
                         char *message, size_t size)
{
    struct piece rest = {text, text ? strlen(text) : 0};
    *numbers = (struct numbers){0};
    for (bool more = text; more;)
        if (!read_item(option, piece_split(&rest, ",", &more), numbers, message, size))
            return false;
    return true;
}

/* ---- a kind's problem ------------------------------------------------------------------------ */

static bool computes(const struct model_kind *kind, bool prefill)
{
    return kind->role == MODEL_DECODER ||
           (prefill ? kind->role == MODEL_ENCODER || kind->role == MODEL_PREFILL
                    : kind->role == MODEL_DECODE);
}

/* A window that hides nothing is none, so that layers which compute the same are one case. */
static void drop_window(struct attn_problem *p)
{
    const ptrdiff_t all = (ptrdiff_t)(p->kv_len - 1);
    const bool ahead = p->window_right < 0 || p->window_right >= all ||
                       p->mask & ATTN_MASK_CAUSAL || p->q_len == 1;
    if (!(p->options & ATTN_OPTION_WINDOW) || p->window_left < all || !ahead)
        return;
    p->options &= ~(unsigned)ATTN_OPTION_WINDOW;
    p->window_left = p->window_right = -1;
}

/* NULL, or why these lengths do not fit. */
static const char *set_lengths(const struct model_kind *kind, const struct asked *asked,
                               struct attn_problem *p)
{
    const size_t chunk = kind->chunk && kind->chunk < asked->length ? kind->chunk : 0;
    const char *why = NULL;
    *p = kind->problem;
    p->batch = asked->batch;
    p->q_len = asked->prefill ? asked->length : 1;
    p->kv_len = kind->fixed_keys ? kind->problem.kv_len : asked->length;
    if (chunk && asked->prefill && asked->length % chunk)
        return "is no multiple of the chunks that its layers see";
    if (chunk && asked->prefill) { /* chunks are like sequences */
        if (__builtin_mul_overflow(p->batch, asked->length / chunk, &p->batch))
            return "makes too many sequences";
        p->q_len = p->kv_len = chunk;
    } else if (chunk) {
        p->kv_len = (asked->length - 1) % chunk + 1;
    }
    if (asked->prefill && kind->role != MODEL_ENCODER)
        p->mask |= ATTN_MASK_CAUSAL;
    drop_window(p);
    return attn_problem_valid(p, &why) ? NULL : why;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Adds layers to the case's share in the pass; false where it has a share in too many. */
static bool add_share(struct problem_case *c, const struct pass *pass, size_t layers)
{
    size_t i = 0;
    while (i < CASE_PASSES && c->passes[i].pass && c->passes[i].pass != pass)
        i++;
    if (i == CASE_PASSES)
        return false;
    c->passes[i].pass = pass;
    c->passes[i].layers += layers;
    return true;
}

/* The case of the list that computes the same; NULL where there is none. */
static struct problem_case *find_same(struct case_list *list, const struct problem_case *c)
{
    for (size_t i = 0; i < list->count; i++)
        if (case_text_same(&list->items[i], c))
            return &list->items[i];
    return NULL;
}

static bool add_case(struct case_list *list, struct problem_case *c, const struct pass *pass,
                     size_t layers, const char **why)
{
    struct problem_case *there = find_same(list, c);
    if (!there && !cases_append(list, c, why))
        return false;
    there = there ? there : &list->items[list->count - 1];
    *why = "more passes have such layers than one session can weigh";
    return add_share(there, pass, layers);
}

static bool name_case(struct problem_case *c, const char *model, const char *kind, const char *rest)
{
    const int n =
        snprintf(c->name, sizeof c->name, "%s%s%s-%s", model, *kind ? "-" : "", kind, rest);
    return n > 0 && (size_t)n < sizeof c->name;
}

/* "prefill-2048-b8" */
static void print_size(const struct asked *asked, char text[64])
{
    const int n =
        snprintf(text, 64, "%s-%zu", asked->prefill ? "prefill" : "decode", asked->length);
    if (asked->batch > 1)
        snprintf(text + n, 64 - (size_t)n, "-b%zu", asked->batch);
}

/* "a pass over 8 x 2048 tokens", "one token on 16384 keys" */
static void print_what(const struct asked *asked, char *text, size_t size)
{
    if (asked->prefill && asked->batch > 1)
        snprintf(text, size, "a pass over %zu x %zu tokens", asked->batch, asked->length);
    else if (asked->prefill)
        snprintf(text, size, "a pass over %zu tokens", asked->length);
    else if (asked->batch > 1)
        snprintf(text, size, "a token of each of %zu sequences on %zu keys", asked->batch,
                 asked->length);
    else
        snprintf(text, size, "one token on %zu keys", asked->length);
}

/* A new pass at the end of the list's; NULL without memory. */
static struct pass *new_pass(struct case_list *list)
{
    struct pass **grown =
        alloc_resized(list->passes, (list->pass_count + 1) * sizeof *list->passes);
    if (!grown)
        return NULL;
    list->passes = grown;
    struct pass *pass = alloc_zeroed(1, sizeof *pass);
    if (pass)
        list->passes[list->pass_count++] = pass;
    return pass;
}

/* What the pass leaves out: "36 layers of gated delta net". */
static void add_without(struct pass *pass, const struct model_kind *kind)
{
    message_add(pass->without, sizeof pass->without, "%s%zu layers of %s",
                *pass->without ? ", " : "", kind->layers, kind->what);
}

/* The problems of all kinds that compute; *differ: they are not all the same. */
static bool problems_of(const struct model *model, const struct asked *asked,
                        struct problem_case cases[MODEL_KINDS], bool *differ, const char **why)
{
    const struct problem_case *first = NULL;
    *differ = false;
    for (size_t i = 0; i < model->count; i++) {
        cases[i] = (struct problem_case){.input.seed = 1};
        if (!computes(&model->kinds[i], asked->prefill))
            continue;
        if ((*why = set_lengths(&model->kinds[i], asked, &cases[i].problem)))
            return false;
        first = first ? first : &cases[i];
        *differ |= !case_text_same(first, &cases[i]);
    }
    *why = asked->prefill ? "has no layers that compute in a pass"
                          : "has no decoder: no token comes after another";
    return first;
}

static bool add_pass(struct case_list *list, const struct model *model, const struct asked *asked,
                     const char **why)
{
    struct problem_case cases[MODEL_KINDS];
    char size[64];
    bool differ;
    if (!problems_of(model, asked, cases, &differ, why))
        return false;
    struct pass *pass = new_pass(list);
    *why = "out of memory";
    if (!pass)
        return false;
    print_size(asked, size);
    print_what(asked, pass->what, sizeof pass->what);
    snprintf(pass->model, sizeof pass->model, "%s", model->name);
    snprintf(pass->name, sizeof pass->name, "%s-%s", model->name, size);
    for (size_t i = 0; i < model->count; i++) {
        const struct model_kind *kind = &model->kinds[i];
        if (kind->role == MODEL_WITHOUT)
            add_without(pass, kind);
        if (!computes(kind, asked->prefill))
            continue;
        *why = "makes a name that is too long";
        if (!name_case(&cases[i], model->name, differ ? kind->name : "", size) ||
            !add_case(list, &cases[i], pass, kind->layers, why))
            return false;
        pass->layers += kind->layers;
    }
    return true;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static bool add_lengths(struct case_list *list, const struct model *model, bool prefill,
                        const struct numbers *lengths, const struct numbers *batches, char *message,
                        size_t message_size)
{
    for (size_t i = 0; i < lengths->count; i++)
        for (size_t b = 0; b < batches->count; b++) {
            const struct asked asked = {prefill, lengths->of[i], batches->of[b]};
            const char *why;
            if (!add_pass(list, model, &asked, &why))
                return refuse(message, message_size, "--model %s, --%s %zu: %s", model->name,
                              prefill ? "prefill" : "decode", asked.length, why);
        }
    return true;
}

bool model_cases_add(struct case_list *list, const struct model_asked *asked, char *message,
                     size_t message_size)
{
    struct numbers prefill, decode, batch;
    static const struct numbers one = {{1}, 1};
    const bool sized = asked->prefill || asked->decode;
    struct piece rest = {asked->models, asked->models ? strlen(asked->models) : 0};
    if (!asked->models && (sized || asked->batch))
        return refuse(message, message_size, "--prefill, --decode and --batch need a --model");
    if (asked->models && !sized)
        return refuse(
            message, message_size,
            "--model needs --prefill S, a pass over S tokens, or --decode S, a token on S "
            "keys");
    if (!read_numbers("prefill", asked->prefill, &prefill, message, message_size) ||
        !read_numbers("decode", asked->decode, &decode, message, message_size) ||
        !read_numbers("batch", asked->batch ? asked->batch : "1", &batch, message, message_size))
        return false;
    for (bool more = asked->models; more;) {
        struct model model;
        if (!models_find(piece_split(&rest, ",", &more), &model, message, message_size) ||
            !add_lengths(list, &model, true, &prefill, asked->decode ? &one : &batch, message,
                         message_size) ||
            !add_lengths(list, &model, false, &decode, &batch, message, message_size))
            return false;
    }
    return true;
}
