/*
 * report_answer: the result of a table in one sentence.
 */
#ifndef HARNESS_RESULTS_REPORT_ANSWER_H
#define HARNESS_RESULTS_REPORT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "cell.h"

/* What the sentence says of the fastest variant of a case on one number of threads.  A text that is empty and
 * a number that is NaN say nothing. */
struct report_answer {
    char variant[96], time[32]; /* "flash/avx512", "2.05 ms" */
    int threads, launches;
    double half; /* of the interval, over the time; NaN: too few launches for one */
    bool ranked;
    char bound[16];
    double share;             /* of what bounds it */
    size_t others;            /* that have a time */
    char ties[256], next[96]; /* from which no difference shows; the fastest of those behind */
    double ratio;             /* time of the next over its own */
    size_t untold;            /* of the others, that have too few launches in the same rounds */
    char choice[96],
        doubts[256]; /* the library's where it is another; flags that make it uncertain */
    double regret;   /* time of the choice over its own */
    bool choice_ties;
};

/* "flash/avx512 on 1 thread, 2.05 ms +-0.4 %: 85 % of what the multiply-adds allow, compute bound; 1.3 x
 * tiled/avx512, the next; no tie".  scripts/attntools/compare/answer.py says it in the same words:
 * tests/data/answers.txt. */
void report_answer_text(const struct report_answer *answer, char *text, size_t size);

/* Prints it for each number of threads of a case; `sorted`: its `n` cells with a row, by threads, then by
 * time. */
void report_answers(const struct cell *cells, size_t count, const struct cell *const *sorted,
                    size_t n);

/* Prints how far what the library chose is from the fastest, over all cases where both have a rank. */
void report_choices(const struct cell *cells, size_t count);

#endif
