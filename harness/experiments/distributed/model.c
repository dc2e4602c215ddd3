/*
 * model: the time of a call from the rate of a rank and from latency and bandwidth of its link.
 *
 * scripts/attntools/experiments/experiment_distributed.py draws the same model; tests/data/ring-model.csv holds both to it.
 */
#include "distributed.h"

#include <math.h>

const struct distributed_network distributed_networks[DISTRIBUTED_NETWORKS] = {
    {"1 Gbit/s", 0.125e9, 50e-6},
    {"10 Gbit/s", 1.25e9, 20e-6},
    {"100 Gbit/s", 12.5e9, 3e-6},
};

struct distributed_time distributed_model(const struct distributed_call *c)
{
    const double steps = c->ranks;
    const double computing = c->flops / (steps * steps) / c->flops_per_s * c->turns;
    const double moving = c->latency_s + c->kv_bytes / steps / c->bytes_per_s;
    if (steps <= 1)
        return (struct distributed_time){computing, 0, 0};
    const double exposed = c->by_cores ? moving : fmax(moving - computing, 0);
    return (struct distributed_time){
        .seconds = steps * computing + (steps - 1) * exposed,
        .communicating_s = (steps - 1) * moving,
        .exposed_s = (steps - 1) * exposed,
    };
}
