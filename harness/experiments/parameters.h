/*
 * parameters: the parameters of an experiment, one table for parsing and for --help.
 */
#ifndef HARNESS_EXPERIMENTS_PARAMETERS_H
#define HARNESS_EXPERIMENTS_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

enum parameter_kind {
    PARAMETER_COUNT,   /* a whole number in [lo, hi] */
    PARAMETER_COUNTS,  /* a list of them, ascending; A..B stands for A, 2A, 4A up to B */
    PARAMETER_NUMBERS, /* a list of numbers in [lo, hi], ascending */
    PARAMETER_WORDS,   /* a list of `words` */
    PARAMETER_WORD,    /* one of them */
    PARAMETER_TEXT,    /* any, judged by the experiment's accepts() */
    PARAMETER_FILE,    /* a name of one */
    PARAMETER_FLAG     /* without a value */
};

struct parameter {
    const char *name, *form;
    const char *standard,
        *quick; /* texts; standard NULL: nothing; quick NULL: the same with --quick */
    const char *help;
    enum parameter_kind kind;
    double lo, hi;
    const char *const *words; /* the last is NULL */
};

/* The value of a text: an integer, an array, a string, or true for a flag.  NULL fills message with what it takes. */
json_t *parameter_parse(const struct parameter *parameter, const char *text, char *message,
                        size_t message_size);

/* All parameters as an object, at their standard or quick values. */
json_t *parameters_standard(const struct parameter *parameters, bool quick);

/* The parameter named by the first `length` bytes of `name`; NULL where there is none. */
const struct parameter *parameters_find(const struct parameter *parameters, const char *name,
                                        size_t length);

/* Lines for --help. */
void parameters_print(FILE *out, const struct parameter *parameters);

#endif
