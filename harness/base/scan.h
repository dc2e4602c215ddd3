/*
 * scan: numbers and names in texts from users and files, and how to quote them in a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"
#include "piece.h"

/* Whether a text is a name: lower case letters, digits and _, a letter first, at most `most` of them. */
bool scan_is_name(const char *text, size_t most);

/* Parses a whole number of decimal digits, at most `max`.  False sets *why: "is not a whole number", ... */
bool scan_number(struct piece piece, uint64_t max, uint64_t *value, const char **why);

/* The same with an optional unit: 16k is 16384, 2M is 2097152, 1.5k is 1536; 1.3k is refused. */
bool scan_count(struct piece piece, uint64_t max, uint64_t *value, const char **why);

/* The same for a number of at least 1. */
bool scan_length(struct piece piece, uint64_t max, uint64_t *value, const char **why);

/* Parses a finite decimal f32, such as 0.125 or -1e-3; -0 becomes 0. */
bool scan_float(struct piece piece, float *value, const char **why);

#define SCAN_FLOAT 32
/* The shortest text that %g writes and that reads back as the same float. */
void scan_print_float(float value, char text[SCAN_FLOAT]);

#define SCAN_QUOTED 64
/* Quotes a piece for a message: 'piece', bytes that are not printable ASCII as \xNN, a long one cut with
 * "...". */
const char *scan_quote(struct piece piece, char text[SCAN_QUOTED]);

/* Number of edits (insert, delete, replace, swap of neighbours) from piece to word; SIZE_MAX where the
 * piece is longer than any misspelt word. */
size_t scan_distance(struct piece piece, const char *word);

/* Collects the expected words, to suggest one in place of an unknown word. */
struct scan_choice {
    struct piece given;
    const char *nearest; /* of the words offered; NULL: none is near */
    size_t distance;
    char all[224]; /* the words offered, comma between */
};
void scan_offer(struct scan_choice *choice, const char *word);

/* A word that other programs use, and this program's word for it; the last has a NULL `given`. */
struct scan_synonym {
    const char *given, *word;
};
/* Suggests this program's word where the given one is another program's, however different the spelling. */
void scan_offer_synonyms(struct scan_choice *choice, const struct scan_synonym *synonyms);

#define SCAN_ADVICE 256
/* "did you mean 'x'?"; where no word is near, `otherwise` and all words: "keys are a, b". */
const char *scan_advice(const struct scan_choice *choice, const char *otherwise,
                        char text[SCAN_ADVICE]);

/* Fills message with `what`, the word and the advice, "no suite 'x'; suites are a, b", and is false, for the
 * caller to return. */
#define scan_refuse(...) (scan_refuse_message(__VA_ARGS__), false)
void scan_refuse_message(const struct scan_choice *choice, const char *what, const char *otherwise,
                         struct message message);
