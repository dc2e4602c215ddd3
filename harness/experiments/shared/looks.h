/*
 * looks: which tokens a head looks at, from its weights.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where a row can look. */
enum looks_place {
    LOOKS_PREVIOUS,
    LOOKS_ITSELF,
    LOOKS_NEXT,
    LOOKS_EQUAL, /* a token with the same text elsewhere */
    LOOKS_TOKEN, /* the one token with most weight over all rows */
    LOOKS_PLACES
};

struct looks {
    struct {
        double weight;  /* the place's share of the head's weight */
        double even;    /* the share if each row had equal weights on the keys that it sees */
        size_t largest; /* rows whose largest weight lies there */
    } places[LOOKS_PLACES];
    size_t token;        /* index of LOOKS_TOKEN */
    double in_use, seen; /* means over rows: e^entropy, and keys that a row sees */
    char text[480];      /* the sentence, without its subject */
};

/* From weights (n, n), 0 for hidden keys; causal: a row sees no later keys. */
void looks_find(const double *p, size_t n, bool causal, const char *const *tokens,
                struct looks *looks);

/* Mean over rows of e^entropy, the keys in use. */
double looks_in_use(const double *p, size_t n);

/* The place's name in rows: "previous", ... */
const char *looks_place_name(enum looks_place place);
