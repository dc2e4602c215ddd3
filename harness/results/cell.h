/*
 * cell: one line of results, (case, kernel, variant, threads, setting), and its state.
 */
#ifndef HARNESS_RESULTS_CELL_H
#define HARNESS_RESULTS_CELL_H

#include "problem/cases.h"
#include "problem/catalogue.h"
#include "journal.h"
#include "setting.h"
#include "base/stop.h"

enum cell_state {
    CELL_OK,
    CELL_UNSUPPORTED,
    CELL_UNAVAILABLE,
    CELL_FAILED,
    CELL_IMPLAUSIBLE,
    CELL_CRASHED,
    CELL_TIMEOUT,
    CELL_SKIPPED,
    CELL_STATE_COUNT
};

const char *cell_state_name(enum cell_state state);
const char *cell_state_meaning(enum cell_state state); /* one line */
bool cell_state_parse(const char *name, enum cell_state *state);

/* Whether it is the kernel's fault: failed, implausible, crashed, timeout. */
bool cell_state_is_bad(enum cell_state state);

/* The reason in the row of a cell that is not done: only tables of an interrupted session have it. */
#define CELL_INCOMPLETE "incomplete: interrupted"

struct cell {
    const struct problem_case *c;
    char kernel_name[64];
    enum attn_isa isa;
    const struct attn_kernel *kernel; /* NULL where the build does not have the variant */
    const struct guest *guest;        /* the file that it comes from; NULL: this program */
    int threads;
    struct setting setting;
    bool chosen; /* by attn_kernel_best(), for the problem and its threads */

    bool done; /* the state is final */
    enum cell_state state;
    char why[640]; /* empty where ok */
    int failed_at; /* threads on which the variant failed, where that is another cell; else 0 */
    enum stop stop;
    double dependence;         /* of neighbouring launches, stats_dependence_of(); NaN unknown */
    struct attn_work estimate; /* lengths_work() of the case, for sharing time and memory */
    struct attn_work work;     /* as counted in the operands; bytes 0: not yet */
    json_t *check;             /* of the first launch; owned, NULL before */
    json_t *launches;          /* their records, in the order taken; owned */
    json_t *row;               /* the finished line; owned, NULL before */
    json_t *blas; /* "blas" of row and launches: the library's core type; owned, NULL none */
    char *log;    /* what it printed: in the worker that ended it, or first; owned, NULL none */
    size_t memory_limit_bytes; /* of its workers; 0: none */
    double cost_s;             /* wall time of the last launch */
    size_t repeats;            /* launches that a repeat superseded */
};

void cell_init(struct cell *cell, const struct problem_case *c, const char *kernel_name,
               enum attn_isa isa);
/* The same variant, threads and setting as those of `like`, on another case. */
void cell_init_like(struct cell *cell, const struct problem_case *c, const struct cell *like);
void cell_free(struct cell *cell);

/* Whether kernel, instruction set and plug-in are the same; in a session of two settings the setting must
 * be the same, too, because another environment may make a kernel wrong. */
bool cell_same_variant(const struct cell *a, const struct cell *b);

/* Whether they differ only in the setting of a session that has two. */
bool cell_is_partner(const struct cell *a, const struct cell *b);

/* Flops and bytes of a call: counted in the operands, or by the problem alone. */
struct attn_work cell_work(const struct cell *cell);

/* Reads "useful_flops" and "compulsory_bytes" of a row, a launch or an answer, if it has them. */
void cell_set_work(struct cell *cell, const json_t *counted);

/* Makes a state final. */
__attribute__((format(printf, 3, 4))) void cell_end(struct cell *cell, enum cell_state state,
                                                    const char *why, ...);

/* {"problem", "case", "kernel", "isa", "threads", "input", "placement", "memory", "huge_pages",
 * "cache", "plugin"}, and "environment" and "setting" where it has them. */
json_t *cell_identity(const struct cell *cell);

/* Clears the errors in the cell's check: they are not from the call that ended it. */
void cell_forget_errors(struct cell *cell);

/* Fails a cell because the same variant did on another number of threads: a wrong kernel gets no time
 * on any. */
void cell_inherit(struct cell *cell, const struct cell *failed);

/* A command line that measures this cell alone; with the thread count too on which its variant
 * failed, where that is another. */
#define CELL_WORD (4 * (2 * PARSE_TEXT + 16)) /* problem and input, every byte of them quoted */
#define CELL_PATH (4 * GUEST_TEXT + 16)       /* an option and its path, likewise */
#define CELL_REPRO (CELL_WORD + CELL_PATH + SETTING_TEXT + 256)
void cell_repro(const struct cell *cell, const char *command, char text[CELL_REPRO]);

/* "flash/avx512", or in a session of two settings "flash/avx512 new" */
void cell_variant(const struct cell *cell, char text[96]);

#endif
