/*
 * protocol: requests of the parent and answers of a worker.
 *
 * A worker reads a request, one line of JSON, from descriptor 3, and writes the answer, one line of JSON, to
 * descriptor 4.  Files are further descriptors, whose numbers are in the request.
 *
 *   request  {"protocol":1, "action":"prepare|check|measure|eval|ceilings|experiment|describe",
 *             "problem":TEXT, "input":TEXT, "case":NAME, "kernel":NAME, "isa":NAME,
 *             "plugin":PATH, "arguments":TEXT, "digest":TEXT, "program":BOOL,
 *             "threads":N, "team":N, "counts":[[N, SLOT], ...], "placement":NAME, "memory":NAME,
 *             "huge_pages":BOOL, "cold":BOOL,
 *             "files":{"operands":FD, "reference":FD, "computed":FD, "topology":FD, "progress":FD,
 *                      "outputs":FD},
 *             "sets":N, "shift":BYTES, "depth":"case|full|thorough|invariant", "seed":N, "launch":N,
 *             "warmup_s":S, "sample_s":S, "budget_s":S, "max_samples":N,
 *             "path_in":PATH, "path_out":PATH, "experiment":NAME, "step":TEXT, "token":TEXT}
 *   answer   {"protocol":1, "token":TEXT, "state":as in results, "why":TEXT|null, and what the
 *             action measured}
 *
 * `plugin` is the file with the kernel, "" for kernels of this program; with `program` it is a program to
 * start, else a shared object to load.  It is refused if its digest has changed. `describe` lists the file's
 * kernels; without a file it answers whether the kernel's library is installed.
 *
 * The answer repeats the request's token, which kernels do not know, so that anything that a kernel writes to
 * descriptor 4 is ignored.
 *
 * `progress` is PROTOCOL_PROGRESS bytes of shared memory with a string that tells what the worker is doing;
 * the parent reads it if the worker dies before it answers.
 */
#pragma once

#include "base/random.h"
#include "check/depth.h"
#include "problem/cases.h"
#include "problem/catalogue.h"
#include "results/setting.h"

#define PROTOCOL_VERSION 1
#define PROTOCOL_PROGRESS ((size_t)4096)
#define PROTOCOL_STEP ((size_t)4096) /* bytes of an experiment's step as JSON */

enum protocol_action {
    PROTOCOL_PREPARE,    /* fill the operands and the reference of a case */
    PROTOCOL_CHECK,      /* judge a kernel */
    PROTOCOL_MEASURE,    /* time a kernel, and judge the results of timed calls */
    PROTOCOL_EVAL,       /* compute from a file to a file */
    PROTOCOL_CEILINGS,   /* measure the machine's ceilings */
    PROTOCOL_EXPERIMENT, /* compute a step of an experiment */
    PROTOCOL_DESCRIBE,   /* list a plug-in's kernels, or look for a kernel's library */
    PROTOCOL_ACTION_COUNT
};

/* Files that workers inherit, in the order of their descriptors. */
enum protocol_file {
    PROTOCOL_OPERANDS,
    PROTOCOL_REFERENCE,
    PROTOCOL_COMPUTED, /* rows of the reference that a check has computed */
    PROTOCOL_TOPOLOGY,
    PROTOCOL_STATUS, /* "progress" */
    PROTOCOL_OUTPUTS,
    PROTOCOL_FILE_COUNT
};
#define PROTOCOL_NO_FILES      \
    {                          \
        -1, -1, -1, -1, -1, -1 \
    }

/* A thread count to check, and the slot of its results in the file of outputs. */
struct protocol_count {
    int threads;
    size_t slot;
};

/* A request, in the parent and in the worker. */
struct protocol_request {
    enum protocol_action action;
    struct problem_case c;
    char kernel[64];
    enum attn_isa isa;
    char plugin[4096];               /* the file with the kernel; "": this program */
    char arguments[GUEST_ARGUMENTS]; /* if that is a program: its arguments, as in struct guest */
    char digest[GUEST_DIGEST];
    bool program; /* the plug-in is a program to start, not a shared object to load */
    int threads;  /* of the kernel */
    int team;     /* of the process, OMP_NUM_THREADS; >= threads */
    struct protocol_count counts[CHECK_COUNTS]; /* PROTOCOL_CHECK: none above `threads` */
    size_t count;
    struct setting setting;         /* its variables, for the worker's environment, are not sent */
    int files[PROTOCOL_FILE_COUNT]; /* descriptors, the parent's or the worker's; -1: absent */
    size_t sets;                    /* of operands */
    size_t shift;                   /* bytes, a multiple of 64 */
    enum check_depth depth;         /* PROTOCOL_CHECK */
    uint64_t seed;
    size_t launch; /* PROTOCOL_MEASURE: number of the launch from 1, for messages */
    double warmup_s, sample_s, budget_s;
    size_t max_samples;
    const char *blas_core; /* not sent: core type for the worker's environment; NULL: a guess */
    char path_in[4096], path_out[4096];
    char experiment[64], step[PROTOCOL_STEP];
    char token[RANDOM_TOKEN];
};

/* Sets the kernel of a request; `guest` is its file, NULL: this program. */
void protocol_kernel(struct protocol_request *request, const char *name, enum attn_isa isa,
                     const struct guest *guest);

/* Prints a request as one line, free() it; NULL if memory runs out. */
char *protocol_print(const struct protocol_request *request);

/* Parses a request; false fills message with what is wrong. */
bool protocol_parse(const char *line, struct protocol_request *request, struct message message);

/* The name of a depth in requests and rows, such as "full". */
const char *protocol_depth_name(enum check_depth depth);

/* Parses an answer and checks version, token and state; NULL fills message. */
json_t *protocol_answer(const char *line, const char *token, struct message message);
