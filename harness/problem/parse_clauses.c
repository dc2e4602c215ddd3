/*
 * parse_clauses: parses and prints an input's clauses, by a table of them.
 */
#include "clause.h"

#include <stdio.h>

#include "operands.h"

static const struct entry {
    const struct clause *clause;
    enum operand_id operand; /* only problems that have it can have the clause */
} clauses[] = {
    {&clause_lens, OPERAND_K},
    {&clause_batch, OPERAND_K},
    {&clause_qlens, OPERAND_CU_SEQLENS},
    {&clause_decode, OPERAND_CU_SEQLENS},
    {&clause_mask, OPERAND_MASK},
    {&clause_bias, OPERAND_BIAS},
    {&clause_scales, OPERAND_K_SCALE},
    {&clause_tree, OPERAND_PARENTS},
    {&clause_prefix, OPERAND_BLOCK_TABLE},
    {&clause_index, OPERAND_INDICES},
};

#define CLAUSES (sizeof clauses / sizeof *clauses)

/* Finds a clause in the table. */
static const struct entry *find(struct piece name, struct parse_error *error)
{
    struct scan_choice choice = {.given = name};
    for (size_t n = 0; n < CLAUSES; n++) {
        if (piece_is(name, clauses[n].clause->name))
            return &clauses[n];
        scan_offer(&choice, clauses[n].clause->name);
    }
    scan_refuse_message(&choice, "unknown clause", "clauses are", MESSAGE(error->message));
    return NULL;
}

/* Whether the clauses are compatible; `first`: their position in the text. */
static bool fit_together(const struct input *input, const struct attn_problem *problem,
                         size_t first, struct parse_error *error)
{
    const char *why = problem ? clause_prefix_misfit(input, problem) : NULL;
    return !why || parse_refuse(error, first, "clause prefix %s", why);
}

/* Parses a clause at a position of the text; *given: bits of those parsed before. */
static bool read_one(struct piece text, size_t at, const struct attn_problem *problem,
                     unsigned *given, struct input *input, struct parse_error *error)
{
    bool has_value;
    char quoted[SCAN_QUOTED];
    struct piece value = text;
    const char *why = "has no value";
    error->position = at;
    const struct entry *found = find(piece_split(&value, ":", &has_value), error);
    if (!found)
        return false;
    const struct clause *clause = found->clause;
    const unsigned bit = 1u << (found - clauses);
    if (*given & bit)
        return parse_refuse(error, at, "clause %s is given twice", clause->name);
    *given |= bit;
    if (!has_value || !clause->read(value, input, &why))
        return parse_refuse(error, at, "clause %s: %s %s; expected %s", clause->name,
                            scan_quote(value, quoted), why, clause->form);
    if (problem && !operands_has(problem, found->operand))
        return parse_refuse(error, at, "clause %s needs %s", clause->name,
                            operand_table[found->operand].asked);
    why = problem && clause->misfit ? clause->misfit(input, problem) : NULL;
    return !why || parse_refuse(error, at, "clause %s %s", clause->name, why);
}

bool parse_clauses(const char *text, struct piece rest, const struct attn_problem *problem,
                   struct input *input, struct parse_error *error)
{
    const size_t first = (size_t)(rest.at - text);
    unsigned given = 0;
    for (bool more = true; more;) {
        const struct piece one = piece_split(&rest, "+", &more);
        if (!read_one(one, (size_t)(one.at - text), problem, &given, input, error))
            return false;
    }
    return fit_together(input, problem, first, error);
}

void parse_print_clauses(const struct input *input, char *text, size_t size)
{
    char value[PARSE_TEXT];
    for (size_t n = 0, at = 0; n < CLAUSES; n++)
        if (clauses[n].clause->print(input, value))
            at += (size_t)snprintf(text + at, size - at, "+%s:%s", clauses[n].clause->name, value);
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
    if (clause_runs_misfit(input, p))
        clause_runs_spread(input);
    shorten(&input->lens, p->kv_len);
    shorten(&input->qlens, p->q_len);
    input->decode = input->decode < p->batch ? input->decode : p->batch;
    if (clause_lens.misfit(input, p))
        input->lens = none;
    if (!operands_has(p, OPERAND_CU_SEQLENS)) {
        input->qlens = none;
        input->decode = 0;
    }
    if (!operands_has(p, OPERAND_MASK) || input->mask_file) { /* a file's mask has its own shape */
        input->mask_block = 0;
        input->mask_visible = 0;
        input->mask_full = input->mask_file = false;
    }
    if (!operands_has(p, OPERAND_BIAS))
        input->bias = INPUT_BIAS_HEADS;
    if (!operands_has(p, OPERAND_K_SCALE) || clause_scales.misfit(input, p))
        input->scales = INPUT_SCALES_TOKEN;
    if (!operands_has(p, OPERAND_PARENTS) || clause_tree.misfit(input, p))
        *input->tree = 0;
    if (!operands_has(p, OPERAND_INDICES))
        input->index_run = 0;
    clause_prefix_fit(input, p);
}
