/*
 * looks: what a head looks at, from its weights.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_LOOKS_H
#define HARNESS_EXPERIMENTS_SHARED_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* Where a row can look. */
enum looks_place {
    LOOKS_PREVIOUS,
    LOOKS_ITSELF,
    LOOKS_NEXT,
    LOOKS_EQUAL, /* a token with the same text elsewhere */
    LOOKS_TOKEN, /* the one token that gets most of all weight */
    LOOKS_PLACES
};

struct looks {
    struct {
        double weight;  /* the place's share of the head's weight */
        double even;    /* the share if each row had equal weights on the keys that it sees */
        size_t largest; /* rows whose largest weight lies there */
    } places[LOOKS_PLACES];
    size_t token;        /* that of LOOKS_TOKEN */
    double in_use, seen; /* e^entropy and keys that a row sees, means over rows */
    char text[480];      /* the sentence, without its subject */
};

/* From weights (n, n), where hidden keys have weight 0: causal hides those behind the row's own. */
void looks_find(const double *p, size_t n, bool causal, const char *const *tokens,
                struct looks *looks);

/* e^entropy, the mean over rows. */
double looks_in_use(const double *p, size_t n);

/* Its name in the rows: "previous", ... */
const char *looks_place_name(enum looks_place place);

#endif
