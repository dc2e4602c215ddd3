/*
 * model: the time of a call from the rate of a rank and from latency and bandwidth of its link.
 */
#include "distributed.h"

#include <math.h>

struct distributed_time distributed_model(const struct distributed_call *c)
{
    const double steps = c->ranks;
    const double computing = c->flops / (steps * steps) / c->flops_per_s * c->turns;
    const double moving = c->latency_s + c->kv_bytes / steps / c->bytes_per_s;
    if (steps <= 1)
        return (struct distributed_time){computing, 0, 0};
    return (struct distributed_time){
        .seconds = (steps - 1) * fmax(computing, moving) + computing,
        .communicating_s = (steps - 1) * moving,
        .exposed_s = (steps - 1) * fmax(moving - computing, 0),
    };
}
