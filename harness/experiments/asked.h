/*
 * asked: the command line of an experiment, and its help.
 */
#ifndef HARNESS_EXPERIMENTS_ASKED_H
#define HARNESS_EXPERIMENTS_ASKED_H

#include "experiment.h"
#include "session/queue.h"

struct asked {
    const struct experiment *experiment; /* NULL: all of them */
    bool help, quick, force;
    const char *output; /* NULL: none */
    int threads;        /* 0: every core */
    json_int_t seed;
    enum if_busy if_busy;
    json_t *given; /* parameters of the one experiment, owned */
};

/* The values of an option that may be repeated, in their order, at most `capacity`; returns how many.
 * For what must be known before asked_parse() can say which kernels there are: --plugin, --kernels. */
size_t asked_values(int argc, const char *const *argv, const char *option, const char **values,
                    size_t capacity);

/* False fills message with one line that names the argument. */
bool asked_parse(struct asked *asked, int argc, const char *const *argv, char *message,
                 size_t message_size);
void asked_free(struct asked *asked);

/* All parameters of an experiment, given or standard, with the seed. */
json_t *asked_of(const struct asked *asked, const struct experiment *experiment);

/* A line for each experiment, wrapped to the width; the page of one, or of all where it is NULL. */
void asked_print_list(FILE *out, size_t width);
void asked_print_help(FILE *out, const struct experiment *experiment);

#endif
