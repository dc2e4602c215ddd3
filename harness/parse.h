/*
 * parse: the text forms of problems and inputs, both ways.
 *
 * Printing gives the canonical form, defaults left out; parsing what was printed gives the same
 * struct.  Text is at most PARSE_TEXT bytes with its terminating 0.
 */
#ifndef HARNESS_PARSE_H
#define HARNESS_PARSE_H

#include "attention.h"

#define PARSE_TEXT 512

/* Where Q, K and V of a case come from. */
enum input_kind {
    INPUT_NORMAL,   /* N(0, 1), seeded */
    INPUT_UNIFORM,  /* U(-1, 1), seeded */
    INPUT_NEEDLE,   /* one dominant key at `needle`, V one-hot there */
    INPUT_NEGATIVE, /* every logit at -30 */
    INPUT_FILE      /* safetensors: PREFIXq, PREFIXk, PREFIXv of (B, H, S, D) */
};

struct input {
    enum input_kind kind;
    uint64_t seed;
    size_t needle;
    char path[256];
    char prefix[64];
};

/* What was wrong with a text, and at which byte of it (0-based). */
struct parse_error {
    size_t position;
    char message[256]; /* one line, names the key */
};

bool parse_problem(const char *text, struct attn_problem *problem, struct parse_error *error);
void parse_print_problem(const struct attn_problem *problem, char text[PARSE_TEXT]);

bool parse_input(const char *text, struct input *input, struct parse_error *error);
void parse_print_input(const struct input *input, char text[PARSE_TEXT]);

#endif
