/*
 * parse_keys: the keys of the problem text, one table that drives parsing, printing and help
 * (parse_keys.c), and the kinds of value that they have (parse_kinds.c).
 *
 * Internal to parse.  A key has a kind, which parses and prints its value, and a standard value for texts
 * that leave it out: a text, or the value of the key that it follows.
 */
#pragma once

#include "parse.h"
#include "base/scan.h"

/* In canonical order; shorthands last. */
enum parse_key_id {
    KEY_B,
    KEY_HQ,
    KEY_HKV,
    KEY_SQ,
    KEY_SKV,
    KEY_D,
    KEY_DV,
    KEY_DTYPE,
    KEY_KV_DTYPE,
    KEY_KV_GROUP,
    KEY_KV_ZEROS,
    KEY_MASK,
    KEY_WINDOW,
    KEY_SOFTCAP,
    KEY_SCALE,
    KEY_LAYOUT,
    KEY_SINKS,
    KEY_ALIBI,
    KEY_RAGGED,
    KEY_PACKED,
    KEY_PAGE,
    KEY_SHARED_KV,
    KEY_KEYS,
    KEY_OUTPUTS,
    KEY_H,
    KEY_S,
    KEY_COUNT
};

/* Bytes of the longest value text: a window of two numbers, or every mask at once. */
#define PARSE_VALUE 48

struct parse_key;

struct parse_kind {
    /* False sets *why, as in "hq='x' is not a whole number". */
    bool (*read)(const struct parse_key *key, struct piece value, struct attn_problem *problem,
                 const char **why);
    void (*print)(const struct parse_key *key, const struct attn_problem *problem,
                  char text[PARSE_VALUE]);
};

/* In this order: a length or a number of pages; 0 or 1; a real number; a type; a sum of names;
 * L or L:R; the size of a group of i4; all or a list. */
extern const struct parse_kind parse_kind_size, parse_kind_flag, parse_kind_float, parse_kind_dtype,
    parse_kind_set, parse_kind_window, parse_kind_group, parse_kind_keys;

struct parse_name {
    const char *name;
    unsigned value;
};
extern const struct parse_name parse_masks[], parse_outputs[];

struct parse_key {
    struct parse_key_help help;
    const struct parse_kind *kind;  /* NULL: a shorthand for the keys that it sets */
    size_t offset;                  /* of its field in struct attn_problem */
    unsigned option;                /* enum attn_option that a value other than 0 turns on */
    unsigned dtypes;                /* allowed types, bits 1u << enum attn_dtype */
    const struct parse_name *names; /* the last one has a NULL name */
    enum parse_key_id follows;      /* the key whose value is its default; KEY_B: none */
    enum parse_key_id sets[2];
    bool always;  /* printed even with its standard value */
    bool of_file; /* a file of tensors determines it, too */
};

extern const struct parse_key parse_keys[KEY_COUNT];

/* "did you mean 'bf16'?" if a value is near one of the key's words or a synonym of one; else false. */
bool parse_meant(const struct parse_key *key, struct piece value, char text[SCAN_ADVICE]);
