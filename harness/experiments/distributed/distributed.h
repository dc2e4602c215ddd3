/*
 * distributed: what its files share.
 */
#ifndef HARNESS_EXPERIMENTS_DISTRIBUTED_DISTRIBUTED_H
#define HARNESS_EXPERIMENTS_DISTRIBUTED_DISTRIBUTED_H

#include <jansson.h>
#include <stdbool.h>

/* A call of kernel ring, for the model. */
struct distributed_call {
    double flops;       /* useful, of all ranks */
    double kv_bytes;    /* K and V, of all ranks */
    double ranks;       /* that compute at once; those above the cores take turns */
    double turns;       /* ranks for each that computes at once, at least 1 */
    double flops_per_s; /* of a rank while it computes */
    double latency_s;   /* of a message */
    double bytes_per_s; /* of a link */
    bool by_cores;      /* the computing cores also move the data: all ranks are on one host */
};

struct distributed_time {
    double seconds;
    double communicating_s; /* of a rank, all steps */
    double exposed_s;       /* the part of it that computing does not hide */
};

/* N steps of computing; during all but the last, a rank's keys and values travel to the next.  A step takes
 * the longer of the two, or their sum where the same cores do both. */
struct distributed_time distributed_model(const struct distributed_call *call);

/* Networks that predictions are for. */
struct distributed_network {
    const char *name;
    double bytes_per_s, latency_s; /* of a host's link; of a message */
};
#define DISTRIBUTED_NETWORKS 3
extern const struct distributed_network distributed_networks[DISTRIBUTED_NETWORKS];

bool distributed_report(const json_t *rows);

#endif
