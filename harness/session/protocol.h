/*
 * protocol: requests of the parent and answers of a worker.
 *
 * A worker is any program that reads one line of JSON, a request, from descriptor 3, does it, and
 * writes one line of JSON, the answer, to descriptor 4.  Files are further descriptors, whose numbers are
 * in the request.
 *
 *   request  {"protocol":1, "action":"prepare|check|measure|eval|ceilings|experiment|describe",
 *             "problem":TEXT, "input":TEXT, "case":NAME, "kernel":NAME, "isa":NAME,
 *             "plugin":PATH, "arguments":TEXT, "digest":TEXT, "program":BOOL,
 *             "threads":N, "team":N, "counts":[[N, SLOT], ...], "placement":NAME, "memory":NAME,
 *             "huge_pages":BOOL, "cold":BOOL,
 *             "files":{"operands":FD, "reference":FD, "topology":FD, "progress":FD, "outputs":FD},
 *             "sets":N, "shift":BYTES, "depth":"case|full|thorough|invariant", "seed":N, "launch":N,
 *             "warmup_s":S, "sample_s":S, "budget_s":S, "max_samples":N,
 *             "path_in":PATH, "path_out":PATH, "experiment":NAME, "step":TEXT, "token":TEXT}
 *   answer   {"protocol":1, "token":TEXT, "state":as in results, "why":TEXT|null, and what the
 *             action measured}
 *
 * `plugin` is the file with the kernel, "" for kernels of this program; `program` means that the file is a
 * program to start, not a shared object to load.  It is used only while it has the digest.
 * `describe` lists the file's kernels; without a file it says whether the kernel's library is installed.
 *
 * The answer repeats the request's token, which a kernel does not get: whatever it writes to descriptor 4
 * is ignored.
 *
 * `progress` is PROTOCOL_PROGRESS bytes of shared memory that hold, as a string, what the worker
 * is doing: the parent reads it when the worker died before it answered.
 */
#ifndef HARNESS_SESSION_PROTOCOL_H
#define HARNESS_SESSION_PROTOCOL_H

#include "base/random.h"
#include "check/depth.h"
#include "problem/cases.h"
#include "problem/catalogue.h"
#include "system/machine.h"

#define PROTOCOL_VERSION 1
#define PROTOCOL_PROGRESS ((size_t)4096)
#define PROTOCOL_STEP ((size_t)4096) /* bytes of a step of an experiment, as JSON */

enum protocol_action {
    PROTOCOL_PREPARE,    /* fill the operands and the reference of a case */
    PROTOCOL_CHECK,      /* judge a kernel */
    PROTOCOL_MEASURE,    /* time it, and judge what it computes meanwhile */
    PROTOCOL_EVAL,       /* compute from a file to a file */
    PROTOCOL_CEILINGS,   /* what the machine can do */
    PROTOCOL_EXPERIMENT, /* one step of an experiment */
    PROTOCOL_DESCRIBE,   /* which kernels a plug-in has, or whether a kernel's library is there */
    PROTOCOL_ACTION_COUNT
};

/* Files that workers inherit, in the order of their descriptors. */
enum protocol_file {
    PROTOCOL_OPERANDS,
    PROTOCOL_REFERENCE,
    PROTOCOL_TOPOLOGY,
    PROTOCOL_STATUS, /* the progress text */
    PROTOCOL_OUTPUTS,
    PROTOCOL_FILE_COUNT
};
#define PROTOCOL_NO_FILES  \
    {                      \
        -1, -1, -1, -1, -1 \
    }

/* A thread count to check, and the place of its results in the file of outputs. */
struct protocol_count {
    int threads;
    size_t slot;
};

/* A request; parent and worker hold the same struct. */
struct protocol_request {
    enum protocol_action action;
    struct problem_case c;
    char kernel[64];
    enum attn_isa isa;
    char plugin[4096];               /* the file that the kernel comes from; "": this program */
    char arguments[GUEST_ARGUMENTS]; /* of that file where it is a program, as in struct guest */
    char digest[GUEST_DIGEST];
    bool program; /* it is a program to start, not a shared object to load */
    int threads;  /* of the kernel */
    int team;     /* of the process, >= threads: what OMP_NUM_THREADS says */
    struct protocol_count counts[CHECK_COUNTS]; /* PROTOCOL_CHECK: none above `threads` */
    size_t count;
    enum placement placement;
    enum memory_policy memory;
    bool huge_pages; /* ask for them */
    bool cold;
    int files[PROTOCOL_FILE_COUNT]; /* -1 where absent; the parent's numbers, then the worker's */
    size_t sets;
    size_t shift;           /* bytes, a multiple of 64 */
    enum check_depth depth; /* PROTOCOL_CHECK */
    uint64_t seed;
    size_t launch; /* PROTOCOL_MEASURE: its number from 1, for messages */
    double warmup_s, sample_s, budget_s;
    size_t max_samples;
    const char *blas_core; /* not sent: core type in the worker's environment; NULL: a guess */
    const char *const *variables; /* not sent: of the cell's setting, likewise; NULL: none */
    char path_in[4096], path_out[4096];
    char experiment[64], step[PROTOCOL_STEP];
    char token[RANDOM_TOKEN];
};

/* Sets the kernel of a request; `guest` is its file, NULL for this program. */
void protocol_kernel(struct protocol_request *request, const char *name, enum attn_isa isa,
                     const struct guest *guest);

/* To one line, free() it; NULL if memory runs out. */
char *protocol_print(const struct protocol_request *request);

/* From one line; false fills message with what is wrong. */
bool protocol_parse(const char *line, struct protocol_request *request, char *message,
                    size_t message_size);

/* "full" */
const char *protocol_depth_name(enum check_depth depth);

/* The answer in a line, checked for its version, token and state; NULL fills message. */
json_t *protocol_answer(const char *line, const char *token, char *message, size_t message_size);

#endif
