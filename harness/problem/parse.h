/*
 * parse: the text forms of problems and inputs, both ways.
 *
 * A problem is a comma list of key=value, no spaces:
 *
 *     b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dtype=bf16,mask=causal,window=256
 *
 * parse_keys.c has the table of keys: values, what is left out, meaning; docs/problems.md explains them.
 *
 * Keys may stand in any order, each at most once; a shorthand beside a key that it sets is refused.  A
 * default may be written.  The canonical form, which printing gives, has the order of the table: b to d
 * always, the other keys only where they differ from their default, floats as the shortest text that reads
 * back as the same float.  Parsing what was printed gives the same struct, and printing what was parsed from
 * a canonical text gives the same text.
 *
 * An input says what the operands of a case hold: where Q, K and V come from,
 *
 *     normal[:SEED]      N(0, 1); SEED is 1 where left out
 *     uniform[:SEED]     U(-1, 1)
 *     needle:J           one dominant key at J, V one-hot there
 *     negative           every logit at -30
 *     sink               key 0 scores 15 above the rest
 *     file:PATH:PREFIX   safetensors PREFIXq, PREFIXk, PREFIXv of (B, H, S, D), and what else the
 *                        problem needs (operands_file.h); the last colon ends PATH, PREFIX may be
 *                        empty; UTF-8, no control characters
 *
 * and, except of a file, clauses about the others, each at most once and only where the problem has a
 * use for it, in any order:
 *
 *     +lens:LO:HI[:MEAN]       keys of a sequence, from LO to HI, evenly spread or so that their mean
 *                              is MEAN; left out: 1 to skv
 *     +lens:A,B,...            keys of each sequence in turn
 *     +batch:[N]qQ[sS],...     N sequences (1) of Q queries on S keys (Q), then the next ones, in place of
 *                              lens, qlens and decode; units as in 16k
 *     +qlens:LO:HI[:MEAN]      queries of a packed sequence, likewise; left out: 1 to sq.  Where keys
 *                              are packed too and sq = skv, a sequence has as many queries as keys,
 *                              unless lens and qlens are both given, or decode
 *     +decode:N                N packed sequences have one query, the others sq
 *     +mask:elements:P         of mask=bool: the fraction P of all elements is visible; one pattern for
 *                              all sequences and heads, or with :full behind it one for each of both;
 *                              left out: mask:elements:0.5
 *     +mask:blocks:N:P         the same in blocks of N queries and N keys
 *     +mask:file:PATH          the same from the tensor `mask` of a safetensors file, of the shapes of
 *                              operands_file.h; at most 100 bytes, without : and +
 *     +bias:keys|full|causal   of mask=bias: one row for all queries, heads and sequences; one matrix
 *                              for each sequence and head; 0 and -inf as mask=causal says.  Left out:
 *                              one matrix for each head.  Elements are N(0, 1)
 *     +scales:token|channel|head|tensor   of a kv_dtype of 8 bits: K and V have a scale for each key,
 *                              which is the default; K for each dimension; both for each KV head; one
 *                              for all of K, one for all of V; of i4, for each group there, not channel
 *     +tree:LxMx...            of mask=tree: L drafts follow the cache, M each of these and so on, sq in
 *                              all, breadth first; or tree:-1,0,0,... the parent of each, -1 the cache;
 *                              one tree for all sequences.  Left out: each parent is drawn
 *     +index:blocks:N          of keys=index: lists of whole runs of N keys, which begin at multiples of N.
 *                              Left out: each key is drawn
 *     +prefix:N                of problems in pages: the first N keys of all sequences lie in the same
 *                              pages, whole ones; no sequence has fewer
 *
 * Which sequence has which length depends on the seed; how many of each length there are does not.
 */
#ifndef HARNESS_PROBLEM_PARSE_H
#define HARNESS_PROBLEM_PARSE_H

#include "attention.h"

#define PARSE_TEXT 512      /* bytes of a text with its terminating 0 */
#define PARSE_MASK_PATH 101 /* of the path of mask:file, so that it fits beside all other clauses */
#define PARSE_TREE 176      /* of a tree, likewise */

/* Where Q, K and V of a case come from. */
enum input_kind {
    INPUT_NORMAL,     /* N(0, 1), seeded */
    INPUT_UNIFORM,    /* U(-1, 1), seeded */
    INPUT_NEEDLE,     /* one dominant key at `needle`, V one-hot there */
    INPUT_NEGATIVE,   /* every logit at -30 */
    INPUT_SINK,       /* key 0 scores 15 above the rest, which weigh something together */
    INPUT_ASCENDING,  /* each key scores higher than the one before it, 96 in all */
    INPUT_DESCENDING, /* lower */
    INPUT_FILE        /* safetensors: PREFIXq, PREFIXk, PREFIXv of (B, H, S, D) */
};

/* How many keys, or queries, the sequences of a case have. */
struct input_lengths {
    bool given; /* else by the problem, lengths.h */
    size_t lo, hi, mean;
};

/* Sequences that follow each other, of the same length. */
#define INPUT_RUNS 96
struct input_run {
    size_t count, q, kv; /* q 0: by the other clauses */
};

enum input_bias { INPUT_BIAS_HEADS, INPUT_BIAS_KEYS, INPUT_BIAS_FULL, INPUT_BIAS_CAUSAL };

/* What shares a scale of K, and of V: a key, a dimension of K (of V a key), a KV head, or all. */
enum input_scales {
    INPUT_SCALES_TOKEN,
    INPUT_SCALES_CHANNEL,
    INPUT_SCALES_HEAD,
    INPUT_SCALES_TENSOR,
    INPUT_SCALES_COUNT
};

struct input {
    enum input_kind kind;
    uint64_t seed; /* 1 where the kind has none */
    size_t needle;
    char path[256]; /* as written; cases_find_file() says where it is */
    char prefix[64];
    struct input_lengths lens, qlens;
    struct input_run
        runs[INPUT_RUNS]; /* all sequences in their order; in place of lens, or of both */
    size_t run_count;
    size_t decode;     /* sequences of one query; 0: by qlens */
    size_t mask_block; /* side of a block; 1: elements, 0: left out */
    float mask_visible;
    bool mask_full;
    bool mask_file; /* at `path` */
    enum input_bias bias;
    enum input_scales scales;
    char tree[PARSE_TREE]; /* as written; "": drawn */
    size_t index_run;      /* keys that are chosen together; 0: each by itself */
    size_t prefix_keys;    /* that all sequences share; 0: none */
};

/* What was wrong with a text, and at which byte of it (0-based). */
struct parse_error {
    size_t position;
    char message[320]; /* one line, names the key; does not repeat the position */
};

/* The problem is valid (attn_problem_valid) where this returns true, else left untouched. */
bool parse_problem(const char *text, struct attn_problem *problem, struct parse_error *error);

/* The same of a text beside a file of tensors, whose sizes and types the file completes: what they must be
 * together is not judged yet. */
bool parse_problem_of_file(const char *text, struct attn_problem *problem,
                           struct parse_error *error);

/* Whether `found`, the problem of a file's tensors, is what the text, read as above, says of it: sizes,
 * and options that are tensors; false fills message, as in "s=5, but sq=4". */
bool parse_agrees_with_file(const char *text, const struct attn_problem *found, char *message,
                            size_t message_size);

/* Gives the keys of a text, all of which can be read, their values in a problem; what comes out is not
 * judged. */
void parse_change(const char *text, struct attn_problem *problem);

/* Whether the text, a valid problem or NULL, gives a value to the key, maybe by a shorthand. */
bool parse_gives(const char *text, const char *key);

/* The canonical form of a valid problem. */
void parse_print_problem(const struct attn_problem *problem, char text[PARSE_TEXT]);

bool parse_input(const char *text, struct input *input, struct parse_error *error);
/* The same where the input must suit a problem. */
bool parse_input_for(const char *text, const struct attn_problem *problem, struct input *input,
                     struct parse_error *error);
void parse_print_input(const struct input *input, char text[PARSE_TEXT]);

/* Makes the clauses of an input suit another problem: lengths are cut to its own, what it has no use for
 * is dropped. */
void parse_fit_input(struct input *input, const struct attn_problem *problem);

/* One key of the problem text for --help; NULL past the last one. */
struct parse_key_help {
    const char *name, *form, *standard, *meaning;
};
const struct parse_key_help *parse_key_help(size_t index);

#endif
