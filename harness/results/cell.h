/*
 * cell: one line of results, (case, kernel, variant, threads, setting), and its state.
 */
#pragma once

#include <jansson.h>

#include "problem/cases.h"
#include "problem/catalogue.h"
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

/* Whether the state is the kernel's fault: failed, implausible, crashed, timeout. */
bool cell_state_is_bad(enum cell_state state);

/* Whether the kernel is wrong, and so its variant on any number of threads: failed, crashed, timeout. */
bool cell_state_is_wrong(enum cell_state state);

/* The reason in rows of unfinished cells, which appear only in tables of an interrupted session. */
#define CELL_INCOMPLETE "incomplete: interrupted"

#define CELL_WHY 640 /* bytes of a reason */

struct cell {
    const struct problem_case *c;
    char kernel_name[64];
    enum attn_isa isa;
    const struct attn_kernel *kernel; /* NULL where the build does not have the variant */
    const struct guest *guest;        /* the file with the kernel; NULL: this program */
    int threads;
    struct setting setting;
    bool chosen; /* by attn_kernel_best() for this problem and thread count */

    bool done; /* the state is final */
    enum cell_state state;
    char why[CELL_WHY]; /* empty where ok */
    int failed_at;      /* thread count of the other cell in which the variant failed; else 0 */
    enum stop stop;
    double dependence;         /* correlation of neighbouring launches; NaN: unknown */
    struct attn_work estimate; /* lengths_work() of the case, to divide time and memory */
    struct attn_work work;     /* counted in the operands; bytes 0: not yet */
    json_t *check;             /* its result; owned, NULL before */
    json_t *launches;          /* their records, in order; owned */
    json_t *row;               /* the finished line; owned, NULL before */
    json_t *blas; /* the BLAS library's core type, for row and launches; owned, NULL: none */
    char *log;    /* output of the worker that ended it, or of the first one; owned, NULL: none */
    size_t memory_limit_bytes; /* of its workers; 0: none */
    double cost_s;             /* wall time of the last launch */
    size_t repeats;            /* launches that a repeat superseded */
    size_t displayed;          /* rank of the live display at which it last ran; 0: not yet */
};

void cell_init(struct cell *cell, const struct problem_case *c, const char *kernel_name,
               enum attn_isa isa);
/* With variant, threads and setting of `like`. */
void cell_init_like(struct cell *cell, const struct problem_case *c, const struct cell *like);
void cell_free(struct cell *cell);

/* Whether kernel, instruction set and plug-in are the same; and, in a session of two settings, the setting,
 * because another environment may make a kernel wrong. */
bool cell_same_variant(const struct cell *a, const struct cell *b);

/* Whether they differ only in the setting of a session that has two. */
bool cell_is_partner(const struct cell *a, const struct cell *b);

/* Flops and bytes of a call: cell->work, or before it is counted those of the problem alone. */
struct attn_work cell_work(const struct cell *cell);

/* Sets cell->work from "useful_flops" and "compulsory_bytes" of a row, a launch or an answer, if present. */
void cell_set_work(struct cell *cell, const json_t *counted);

/* Ends a cell: the state is final; the reason is formatted. */
__attribute__((format(printf, 3, 4))) void cell_end(struct cell *cell, enum cell_state state,
                                                    const char *why, ...);

/* {"problem", "case", "kernel", "isa", "threads", "input", "placement", "memory", "huge_pages",
 * "cache", "plugin"}, and "environment" and "setting" where it has them. */
json_t *cell_identity(const struct cell *cell);

/* Clears the errors in the cell's check, which belong to another call than the one that ended it. */
void cell_forget_errors(struct cell *cell);

/* Fails a cell because its variant failed on another number of threads: a wrong kernel gets no time on
 * any. */
void cell_inherit(struct cell *cell, enum cell_state state, int threads, const char *why);

/* A command line that measures this cell alone, also on failed_at threads if that is set. */
#define CELL_WORD (4 * (2 * PARSE_TEXT + 16)) /* problem and input, every byte quoted */
#define CELL_PATH (4 * GUEST_TEXT + 16)       /* an option and its path, likewise */
#define CELL_REPRO (CELL_WORD + CELL_PATH + SETTING_TEXT + 256)
void cell_repro(const struct cell *cell, const char *command, char text[CELL_REPRO]);

/* "flash/avx512"; in a session of two settings "flash/avx512 new" */
void cell_variant(const struct cell *cell, char text[96]);
