/*
 * report_answer: a case's result in one sentence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cell.h"

/* The fastest variant of a case on one number of threads.  Empty texts and NaN are left out of the
 * sentence. */
struct report_answer {
    char variant[96], time[32]; /* "flash/avx512", "2.05 ms" */
    int threads, launches;
    double half; /* half the 95 % interval over the time; NaN: too few launches */
    bool ranked;
    char bound[16];               /* "compute" or "bandwidth" */
    double share;                 /* of the ceiling that bounds it */
    size_t others;                /* other variants with a time */
    char ties[256], next[96];     /* variants that tie with it; the fastest that does not */
    double ratio;                 /* time of `next` over its own */
    size_t uncompared;            /* others with too few launches in the same rounds */
    char choice[96], doubts[256]; /* the library's, if another variant; flags of uncertainty */
    double regret;                /* time of `choice` over its own */
    bool choice_ties;
};

/* "flash/avx512 on 1 thread, 2.05 ms +-0.4 %: 85 % of what the multiply-adds allow, compute bound; 1.3 x
 * tiled/avx512, the next; no tie".  scripts/attntools/compare/answer.py writes the same:
 * tests/data/answers.txt. */
void report_answer_text(const struct report_answer *answer, char *text, size_t size);

/* Prints the sentence for each number of threads of a case; `sorted`: its n cells with a row, by threads,
 * then by time. */
void report_answers(const struct cell *cells, size_t count, const struct cell *const *sorted,
                    size_t n);

/* Prints how much longer the library's choices take than the fastest, over all cases where both have a
 * rank. */
void report_answer_choices(const struct cell *cells, size_t count);
