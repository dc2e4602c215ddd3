/*
 * model_cases: makes cases and passes of models at given lengths.
 */
#include "model_cases.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "model_size.h"
#include "sweep.h"

#define MOST_NUMBERS 64                 /* numbers in a list */
#define MOST_LENGTH ((uint64_t)1 << 40) /* tokens */

/* Lists of --prefill, --decode and --batch. */
struct numbers {
    size_t of[MOST_NUMBERS], count;
};

#define BATCH "2q2k,32q1s4k" /* an example */

#define SIZE_SHOWN ((size_t)32) /* most bytes of a batch in a name */

/* ---- numbers --------------------------------------------------------------------------------- */

static bool read_item(const char *option, struct piece item, struct numbers *numbers,
                      struct message message)
{
    char value[SWEEP_VALUE], quoted[SCAN_QUOTED];
    struct piece at = item;
    const char *why = NULL;
    size_t values;
    uint64_t n = 0;
    bool read = sweep_count(item, &values, &at, &why);
    for (size_t i = 0; read && i < values; i++) {
        read = sweep_value(item, i, value);
        at = read ? piece_of(value) : item;
        why = "is too long";
        read = read && scan_length(at, MOST_LENGTH, &n, &why);
        if (read && numbers->count == MOST_NUMBERS)
            return refuse(message, "--%s takes at most %d numbers", option, MOST_NUMBERS);
        if (read)
            numbers->of[numbers->count++] = n;
    }
    scan_quote(at, quoted);
    if (!read && strcmp(option, "batch") == 0)
        return refuse(message, "--batch: %s is no number of sequences and no batch such as " BATCH,
                      quoted);
    return read ||
           refuse(message, "--%s takes numbers and ranges of them: %s %s", option, quoted, why);
}

static bool read_numbers(const char *option, const char *text, struct numbers *numbers,
                         struct message message)
{
    struct piece rest = {text, text ? strlen(text) : 0};
    *numbers = (struct numbers){0};
    for (bool more = text; more;)
        if (!read_item(option, piece_split(&rest, ",", &more), numbers, message))
            return false;
    return true;
}

/* Whether --batch lists sequences, rather than numbers of sequences. */
static bool lists_sequences(const char *batch)
{
    return batch && strpbrk(batch, "q:");
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Adds layers to the case's share in the pass; false: it belongs to too many passes. */
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

/* The case of the list that computes the same; NULL: there is none. */
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

/* Appends a pass to the list; NULL: memory runs out. */
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

/* Adds layers that the pass leaves out: "36 layers of gated delta net". */
static void add_without(struct pass *pass, const struct model_kind *kind)
{
    message_add(pass->without, sizeof pass->without, "%s%zu layers of %s",
                *pass->without ? ", " : "", kind->layers, kind->what);
}

/* Makes the problems of all kinds that compute at this size; *differ: they are not all the same. */
static bool problems_of(const struct model *model, const struct model_size *size,
                        struct problem_case cases[MODEL_KINDS], bool *differ, const char **why)
{
    const struct problem_case *first = NULL;
    *differ = false;
    for (size_t i = 0; i < model->count; i++) {
        if (!model_size_has(size, &model->kinds[i]))
            continue;
        if ((*why = model_size_case(size, &model->kinds[i], &cases[i])))
            return false;
        first = first ? first : &cases[i];
        *differ |= !case_text_same(first, &cases[i]);
    }
    *why = size->runs.run_count
               ? "has no layers that compute all of this together: those of a pass "
                 "and those of a token are other ones, or are not there"
           : size->prefill ? "has no layers that compute in a pass"
                           : "has no decoder: no token comes after another";
    return first;
}

static bool add_pass(struct case_list *list, const struct model *model,
                     const struct model_size *size, const char **why)
{
    struct problem_case cases[MODEL_KINDS];
    char name[MODEL_SIZE_NAME];
    bool differ;
    if (!problems_of(model, size, cases, &differ, why))
        return false;
    struct pass *pass = new_pass(list);
    *why = "out of memory";
    if (!pass)
        return false;
    model_size_name(size, SIZE_SHOWN, name);
    model_size_say(size, pass->what, sizeof pass->what);
    snprintf(pass->model, sizeof pass->model, "%s", model->name);
    snprintf(pass->name, sizeof pass->name, "%s-%s", model->name, name);
    for (size_t i = 0; i < model->count; i++) {
        const struct model_kind *kind = &model->kinds[i];
        if (kind->role == MODEL_WITHOUT)
            add_without(pass, kind);
        if (!model_size_has(size, kind))
            continue;
        *why = "makes a name that is too long";
        if (!name_case(&cases[i], model->name, differ ? kind->name : "", name) ||
            !add_case(list, &cases[i], pass, kind->layers, why))
            return false;
        pass->layers += kind->layers;
    }
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool add_size(struct case_list *list, const struct model *model,
                     const struct model_size *size, struct message message)
{
    const char *why;
    char name[MODEL_SIZE_NAME];
    if (add_pass(list, model, size, &why))
        return true;
    model_size_name(size, SIZE_SHOWN, name);
    return refuse(message, "--model %s, %s: %s", model->name, name, why);
}

static bool add_lengths(struct case_list *list, const struct model *model, bool prefill,
                        const struct numbers *lengths, const struct numbers *batches,
                        struct message message)
{
    bool added = true;
    for (size_t i = 0; i < lengths->count; i++)
        for (size_t b = 0; added && b < batches->count; b++) {
            const struct model_size size = {prefill, lengths->of[i], batches->of[b], {0}, 0};
            added = add_size(list, model, &size, message);
        }
    return added;
}

/* Adds cases of lists of sequences, separated by |. */
static bool add_batches(struct case_list *list, const struct model *model, const char *batches,
                        struct message message)
{
    struct piece rest = piece_of(batches);
    struct model_size size;
    for (bool more = true; more;)
        if (!model_size_read(piece_split(&rest, "|", &more), &size, message) ||
            !add_size(list, model, &size, message))
            return false;
    return true;
}

static bool add_model(struct case_list *list, const struct model_asked *asked, struct piece text,
                      struct message message)
{
    static const struct numbers one = {{1}, 1};
    const bool listed = lists_sequences(asked->batch);
    struct numbers prefill, decode, batch = one;
    struct model model;
    if (!read_numbers("prefill", asked->prefill, &prefill, message) ||
        !read_numbers("decode", asked->decode, &decode, message) ||
        (asked->batch && !listed && !read_numbers("batch", asked->batch, &batch, message)) ||
        !models_find(text, &model, message))
        return false;
    if (*model.assumed)
        progress_say("%.*s: %s", (int)text.length, text.at, model.assumed);
    return add_lengths(list, &model, true, &prefill, asked->decode ? &one : &batch, message) &&
           add_lengths(list, &model, false, &decode, &batch, message) &&
           (!listed || add_batches(list, &model, asked->batch, message));
}

bool model_cases_add(struct case_list *list, const struct model_asked *asked,
                     struct message message)
{
    const bool sized = asked->prefill || asked->decode || lists_sequences(asked->batch);
    struct piece rest = {asked->models, asked->models ? strlen(asked->models) : 0};
    struct numbers batch;
    if (!asked->models && asked->batch)
        return refuse(message,
                      "--batch needs a --model, or a --problem such as hq=32,hkv=8,mask=causal");
    if (!asked->models && sized)
        return refuse(message, "--prefill and --decode need a --model");
    if (asked->models && !sized && asked->batch &&
        !read_numbers("batch", asked->batch, &batch, message))
        return false;
    if (asked->models && !sized)
        return refuse(message,
                      "--model needs --prefill S, a pass over S tokens, --decode S, a token on S "
                      "keys, or a --batch such as " BATCH);
    for (bool more = asked->models; more;)
        if (!add_model(list, asked, piece_split(&rest, ",", &more), message))
            return false;
    return true;
}
