/*
 * parse_clauses: what an input says about masks, lengths and scales; a table of the clauses.
 */
#include "parse_clauses.h"

#include <stdio.h>
#include <string.h>

#include "base/refuse.h"
#include "parse_runs.h"

struct clause {
    const char *name;
    const char *form; /* for messages */
    bool (*read)(struct piece value, struct input *input, const char **why);
    /* What stands behind the colon; false: left out. */
    bool (*print)(const struct input *input, char text[PARSE_TEXT]);
    /* Why a problem has no use for it; NULL where it has. */
    const char *(*misfit)(const struct input *input, const struct attn_problem *problem);
};

/* ---- lengths ------------------------------------------------------------------------------- */

/* LO:HI or LO:HI:MEAN */
static bool read_lengths(struct piece value, struct input_lengths *lengths, const char **why)
{
    uint64_t numbers[3] = {0};
    bool more = true;
    size_t n = 0;
    for (; more && n < 3; n++)
        if (!scan_count(piece_split(&value, ":", &more), PTRDIFF_MAX, &numbers[n], why))
            return false;
    *why = "is not two or three numbers";
    if (more || n < 2)
        return false;
    if (n == 2)
        numbers[2] = numbers[0] + (numbers[1] - numbers[0]) / 2;
    *why = "does not rise from LO over MEAN to HI";
    *lengths = (struct input_lengths){true, numbers[0], numbers[1], numbers[2]};
    return lengths->lo <= lengths->mean && lengths->mean <= lengths->hi &&
           lengths->lo <= lengths->hi;
}

static bool print_lengths(const struct input_lengths *lengths, char text[PARSE_TEXT])
{
    const int n = snprintf(text, PARSE_TEXT, "%zu:%zu", lengths->lo, lengths->hi);
    if (lengths->mean != lengths->lo + (lengths->hi - lengths->lo) / 2)
        snprintf(text + n, PARSE_TEXT - (size_t)n, ":%zu", lengths->mean);
    return lengths->given;
}

/* Whether lengths are given one by one, queries too. */
static bool has_batch(const struct input *input)
{
    return input->run_count && input->runs[0].q;
}

#define BESIDE_BATCH "cannot stand beside batch"

static bool read_lens(struct piece value, struct input *input, const char **why)
{
    *why = BESIDE_BATCH;
    if (has_batch(input))
        return false;
    return memchr(value.at, ',', value.length) ? runs_read_keys(value, input, why)
                                               : read_lengths(value, &input->lens, why);
}

static bool read_batch(struct piece value, struct input *input, const char **why)
{
    *why = "cannot stand beside lens, qlens or decode";
    return !input->lens.given && !input->qlens.given && !input->decode && !input->run_count &&
           runs_read(value, input, why);
}

static bool print_batch(const struct input *input, char text[PARSE_TEXT])
{
    runs_print(input, text);
    return has_batch(input);
}

static bool print_lens(const struct input *input, char text[PARSE_TEXT])
{
    if (input->run_count)
        runs_print(input, text);
    if (input->run_count)
        return !has_batch(input);
    return print_lengths(&input->lens, text);
}

static const char *lens_misfit(const struct input *input, const struct attn_problem *p)
{
    const bool own = p->options & ATTN_OPTION_RAGGED ||
                     (p->options & ATTN_OPTION_PACKED && !(p->options & ATTN_OPTION_PAGED));
    return input->run_count             ? runs_misfit(input, p)
           : !own                       ? "needs ragged=1, or packed=1 without pages"
           : input->lens.hi > p->kv_len ? "has a sequence of more than skv keys"
                                        : NULL;
}

static bool read_qlens(struct piece value, struct input *input, const char **why)
{
    *why = BESIDE_BATCH;
    if (has_batch(input) || !read_lengths(value, &input->qlens, why))
        return false;
    *why = "cannot stand beside decode";
    return !input->decode;
}

static bool print_qlens(const struct input *input, char text[PARSE_TEXT])
{
    return print_lengths(&input->qlens, text);
}

static const char *qlens_misfit(const struct input *input, const struct attn_problem *p)
{
    return !(p->options & ATTN_OPTION_PACKED) ? "needs packed=1"
           : input->qlens.hi > p->q_len       ? "has a sequence of more than sq queries"
                                              : NULL;
}

static bool read_decode(struct piece value, struct input *input, const char **why)
{
    uint64_t n;
    if (!scan_number(value, PTRDIFF_MAX, &n, why))
        return false;
    input->decode = n;
    *why = has_batch(input) ? BESIDE_BATCH : n ? "cannot stand beside qlens" : "is less than 1";
    return n && !input->qlens.given && !has_batch(input);
}

static bool print_decode(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "%zu", input->decode);
    return input->decode;
}

static const char *decode_misfit(const struct input *input, const struct attn_problem *p)
{
    return !(p->options & ATTN_OPTION_PACKED) ? "needs packed=1"
           : input->decode > p->batch         ? "has more sequences than b"
                                              : NULL;
}

/* ---- masks and scales ---------------------------------------------------------------------- */

#define USUAL_VISIBLE 0.5F /* of mask=bool where no clause says */

/* PATH, maybe with :full behind */
static bool read_mask_file(struct piece value, struct input *input, const char **why)
{
    bool full;
    char path[PARSE_MASK_PATH];
    const struct piece given = piece_split(&value, ":", &full);
    *why = "has no path of at most 100 bytes, or an ending other than full";
    if (!given.length || !piece_is_text(given) || !piece_copy(given, path, sizeof path) ||
        (full && !piece_is(value, "full")))
        return false;
    memcpy(input->path, path, sizeof path);
    input->mask_block = 1;
    input->mask_full = full;
    input->mask_file = true;
    return true;
}

/* elements:P, blocks:N:P or file:PATH, maybe with :full behind */
static bool read_mask(struct piece value, struct input *input, const char **why)
{
    bool more;
    uint64_t block = 1;
    float visible;
    const struct piece unit = piece_split(&value, ":", &more);
    if (more && piece_is(unit, "file"))
        return read_mask_file(value, input, why);
    *why = "is none of elements:P, blocks:N:P and file:PATH";
    if (!more || !(piece_is(unit, "elements") || piece_is(unit, "blocks")))
        return false;
    if (piece_is(unit, "blocks") &&
        !scan_count(piece_split(&value, ":", &more), PTRDIFF_MAX, &block, why))
        return false;
    if (!scan_float(more ? piece_split(&value, ":", &more) : (struct piece){"", 0}, &visible, why))
        return false;
    *why = "has no blocks, a P outside 0..1, or an ending other than full";
    if (!block || !(visible >= 0 && visible <= 1) || (more && !piece_is(value, "full")))
        return false;
    const bool usual = block == 1 && visible == USUAL_VISIBLE && !more;
    input->mask_block = usual ? 0 : block;
    input->mask_visible = usual ? 0 : visible;
    input->mask_full = more;
    return true;
}

static bool print_mask(const struct input *input, char text[PARSE_TEXT])
{
    char visible[SCAN_FLOAT];
    scan_print_float(input->mask_visible, visible);
    int n = snprintf(text, PARSE_TEXT, "elements:%s", visible);
    if (input->mask_block > 1)
        n = snprintf(text, PARSE_TEXT, "blocks:%zu:%s", input->mask_block, visible);
    if (input->mask_file)
        n = snprintf(text, PARSE_TEXT, "file:%s", input->path);
    if (input->mask_full)
        snprintf(text + n, PARSE_TEXT - (size_t)n, ":full");
    return input->mask_block;
}

static const char *mask_misfit(const struct input *input, const struct attn_problem *p)
{
    (void)input;
    return p->mask & ATTN_MASK_BOOL ? NULL : "needs mask=bool";
}

static const char *const biases[] = {
    [INPUT_BIAS_KEYS] = "keys", [INPUT_BIAS_FULL] = "full", [INPUT_BIAS_CAUSAL] = "causal"};

static bool read_bias(struct piece value, struct input *input, const char **why)
{
    *why = "is no such bias";
    for (int n = INPUT_BIAS_KEYS; n <= INPUT_BIAS_CAUSAL; n++)
        if (piece_is(value, biases[n])) {
            input->bias = (enum input_bias)n;
            return true;
        }
    return false;
}

static bool print_bias(const struct input *input, char text[PARSE_TEXT])
{
    if (input->bias != INPUT_BIAS_HEADS)
        snprintf(text, PARSE_TEXT, "%s", biases[input->bias]);
    return input->bias != INPUT_BIAS_HEADS;
}

static const char *bias_misfit(const struct input *input, const struct attn_problem *p)
{
    (void)input;
    return p->mask & ATTN_MASK_BIAS ? NULL : "needs mask=bias";
}

static bool read_scales(struct piece value, struct input *input, const char **why)
{
    *why = "is no such granularity";
    input->channel_scales = piece_is(value, "channel");
    return input->channel_scales || piece_is(value, "token");
}

static bool print_scales(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "channel");
    return input->channel_scales;
}

static const char *scales_misfit(const struct input *input, const struct attn_problem *p)
{
    (void)input;
    return p->kv_dtype == ATTN_I8 ? NULL : "needs kv_dtype=i8";
}

/* ---- the list ------------------------------------------------------------------------------ */

static const struct clause clauses[] = {
    {"lens", "lens:LO:HI, lens:LO:HI:MEAN or lens:A,B,...", read_lens, print_lens, lens_misfit},
    {"batch", "batch:" RUNS_FORM, read_batch, print_batch, runs_misfit},
    {"qlens", "qlens:LO:HI or qlens:LO:HI:MEAN", read_qlens, print_qlens, qlens_misfit},
    {"decode", "decode:N", read_decode, print_decode, decode_misfit},
    {"mask",
     "mask:elements:P, mask:blocks:N:P or mask:file:PATH, with :full for each sequence and head",
     read_mask, print_mask, mask_misfit},
    {"bias", "bias:keys, bias:full or bias:causal", read_bias, print_bias, bias_misfit},
    {"scales", "scales:token or scales:channel", read_scales, print_scales, scales_misfit},
};

#define CLAUSES (sizeof clauses / sizeof *clauses)

static const struct clause *find(struct piece name, struct parse_error *error)
{
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    struct scan_choice choice = {.given = name};
    for (size_t n = 0; n < CLAUSES; n++) {
        if (piece_is(name, clauses[n].name))
            return &clauses[n];
        scan_offer(&choice, clauses[n].name);
    }
    snprintf(error->message, sizeof error->message, "unknown clause %s; %s",
             scan_quote(name, quoted), scan_advice(&choice, "clauses are", advice));
    return NULL;
}

/* One clause; *given are bits of those that were read already. */
static bool read_one(struct piece text, const struct attn_problem *problem, unsigned *given,
                     struct input *input, struct parse_error *error)
{
    bool has_value;
    char quoted[SCAN_QUOTED];
    struct piece value = text;
    const char *why = "has no value";
    const struct clause *clause = find(piece_split(&value, ":", &has_value), error);
    if (!clause)
        return false;
    const unsigned bit = 1u << (clause - clauses);
    if (*given & bit)
        return refuse(error->message, sizeof error->message, "clause %s is given twice",
                      clause->name);
    *given |= bit;
    if (!has_value || !clause->read(value, input, &why))
        return refuse(error->message, sizeof error->message, "clause %s: %s %s; expected %s",
                      clause->name, scan_quote(value, quoted), why, clause->form);
    why = problem ? clause->misfit(input, problem) : NULL;
    if (why)
        snprintf(error->message, sizeof error->message, "clause %s %s", clause->name, why);
    return !why;
}

bool parse_clauses(const char *text, struct piece rest, const struct attn_problem *problem,
                   struct input *input, struct parse_error *error)
{
    unsigned given = 0;
    for (bool more = true; more;) {
        const struct piece one = piece_split(&rest, "+", &more);
        if (!read_one(one, problem, &given, input, error)) {
            error->position = (size_t)(one.at - text);
            return false;
        }
    }
    return true;
}

void parse_print_clauses(const struct input *input, char *text, size_t size)
{
    char value[PARSE_TEXT];
    for (size_t n = 0, at = 0; n < CLAUSES; n++)
        if (clauses[n].print(input, value))
            at += (size_t)snprintf(text + at, size - at, "+%s:%s", clauses[n].name, value);
}

/* ---- another problem ----------------------------------------------------------------------- */

static void shorten(struct input_lengths *lengths, size_t most)
{
    lengths->hi = lengths->hi < most ? lengths->hi : most;
    lengths->lo = lengths->lo < lengths->hi ? lengths->lo : lengths->hi;
    lengths->mean = lengths->mean < lengths->hi ? lengths->mean : lengths->hi;
}

void parse_fit_input(struct input *input, const struct attn_problem *p)
{
    static const struct input_lengths none;
    if (runs_misfit(input, p))
        runs_spread(input);
    shorten(&input->lens, p->kv_len);
    shorten(&input->qlens, p->q_len);
    input->decode = input->decode < p->batch ? input->decode : p->batch;
    if (lens_misfit(input, p))
        input->lens = none;
    if (qlens_misfit(input, p)) {
        input->qlens = none;
        input->decode = 0;
    }
    if (mask_misfit(input, p) || input->mask_file) { /* a file's has the shape of its own problem */
        input->mask_block = 0;
        input->mask_visible = 0;
        input->mask_full = input->mask_file = false;
    }
    if (bias_misfit(input, p))
        input->bias = INPUT_BIAS_HEADS;
    if (scales_misfit(input, p))
        input->channel_scales = false;
}
