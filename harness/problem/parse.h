/*
 * parse: parses and prints the texts of problems and inputs.
 *
 * A problem is a comma list of key=value, no spaces:
 *
 *     b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dtype=bf16,mask=causal,window=256
 *
 * parse_keys.c has the table of keys: values, defaults, meaning; docs/problems.md explains them.
 *
 * Keys may have any order, each comes at most once, and a shorthand excludes the keys that it sets.  Printing
 * gives the canonical form: the table's order, b to d always, other keys only if they differ from their
 * defaults, floats as the shortest text that parses to the same float.  Printing and parsing a problem gives
 * the same struct, parsing and printing a canonical text the same text.
 *
 * An input is the content of a case's operands: how Q, K and V are made, as in `normal:SEED`, and, except for
 * a file, clauses about other operands, `+lens:LO:HI`, in any order, each at most once and only if it applies
 * to the problem.  docs/problems.md lists both.  In `file:PATH:PREFIX` the last colon ends PATH, and PREFIX may
 * be empty; both are UTF-8 without control characters.  The seed determines only the order of the sequences'
 * lengths.
 */
#pragma once

#include "attention.h"
#include "base/message.h"

#define PARSE_TEXT 512 /* bytes of a text with its terminating 0 */

/* Bytes of mask:file's path and of a tree, so that each fits beside all other clauses. */
#define PARSE_MASK_PATH 101
#define PARSE_TREE 176

/* Where Q, K and V of a case come from. */
enum input_kind {
    INPUT_NORMAL,     /* N(0, 1), seeded */
    INPUT_UNIFORM,    /* U(-1, 1), seeded */
    INPUT_NEEDLE,     /* one dominant key at `needle`, V one-hot there */
    INPUT_NEGATIVE,   /* every logit is -30 */
    INPUT_SINK,       /* key 0 scores 15 more than the others, whose total weight still counts */
    INPUT_ASCENDING,  /* scores rise from key to key, by 96 in all */
    INPUT_DESCENDING, /* scores fall likewise */
    INPUT_FILE        /* safetensors: PREFIXq, PREFIXk, PREFIXv of (B, H, S, D) */
};

/* Numbers of keys, or queries, of a case's sequences. */
struct input_lengths {
    bool given; /* else determined by the problem, lengths.h */
    size_t lo, hi, mean;
};

/* Consecutive sequences of the same length. */
#define INPUT_RUNS 96
struct input_run {
    size_t count, q, kv; /* sequences, queries, keys; q 0: by other clauses */
};

enum input_bias { INPUT_BIAS_HEADS, INPUT_BIAS_KEYS, INPUT_BIAS_FULL, INPUT_BIAS_CAUSAL };

/* Elements that share a scale: of a key, of a dimension of K (V: of a key), of a KV head, or all. */
enum input_scales {
    INPUT_SCALES_TOKEN,
    INPUT_SCALES_CHANNEL,
    INPUT_SCALES_HEAD,
    INPUT_SCALES_TENSOR,
    INPUT_SCALES_COUNT
};

struct input {
    enum input_kind kind;
    uint64_t seed; /* 1 if the kind has none */
    size_t needle;
    char path[256]; /* as written, for cases_find_file() */
    char prefix[64];
    struct input_lengths lens, qlens;
    struct input_run runs[INPUT_RUNS]; /* all sequences in order; instead of lens, or of both */
    size_t run_count;
    size_t decode;     /* sequences with one query; 0: by qlens */
    size_t mask_block; /* side of a block; 1: elements; 0: not given */
    float mask_visible;
    bool mask_full;
    bool mask_file; /* at `path` */
    enum input_bias bias;
    enum input_scales scales;
    char tree[PARSE_TREE]; /* as written; "": drawn */
    size_t index_run;      /* keys chosen together; 0: each by itself */
    size_t prefix_keys;    /* keys that all sequences share; 0: none */
};

/* The error in a text and its position, a byte from 0. */
struct parse_error {
    size_t position;
    char message[320]; /* one line with the key, without the position */
};

/* Fills an error, and is false, for the caller to return. */
#define parse_refuse(error, at, ...) \
    ((error)->position = (at), refuse(MESSAGE((error)->message), __VA_ARGS__))

/* Parses a problem, which is valid (attn_problem_valid) if this returns true, else unchanged. */
bool parse_problem(const char *text, struct attn_problem *problem, struct parse_error *error);

/* The same for a text whose sizes and types a file of tensors completes; conditions on these are not tested
 * yet. */
bool parse_problem_of_file(const char *text, struct attn_problem *problem,
                           struct parse_error *error);

/* Whether `found`, the problem of a file's tensors, agrees with such a text in sizes and in options that are
 * tensors; false fills message, as in "s=5, but sq=4". */
bool parse_agrees_with_file(const char *text, const struct attn_problem *found,
                            struct message message);

/* Sets the values of a text's keys, which must be valid, in a problem, which may become invalid. */
void parse_change(const char *text, struct attn_problem *problem);

/* Whether a text, a valid problem or NULL, gives the key a value, possibly by a shorthand. */
bool parse_gives(const char *text, const char *key);

/* Prints the canonical form of a valid problem. */
void parse_print_problem(const struct attn_problem *problem, char text[PARSE_TEXT]);

bool parse_input(const char *text, struct input *input, struct parse_error *error);
/* The same, but the input must suit a problem. */
bool parse_input_for(const char *text, const struct attn_problem *problem, struct input *input,
                     struct parse_error *error);
void parse_print_input(const struct input *input, char text[PARSE_TEXT]);

/* Makes an input's clauses suit another problem: reduces lengths to the problem's, drops clauses that do not
 * apply. */
void parse_fit_input(struct input *input, const struct attn_problem *problem);

/* One key of the problem text for --help; NULL past the last one. */
struct parse_key_help {
    const char *name, *form, *standard, *meaning;
};
const struct parse_key_help *parse_key_help(size_t index);
