/*
 * rank_serve: one rank, which mpiexec starts.
 *
 * Requests are those of docs/protocol.md, one line of JSON each; rank 0 finds them on its standard input,
 * answers on its standard output, and hands each to the others, as all act together.  A request to prepare
 * says in "memory" where the file of tensors is: [PID, FD, DEVICE, INODE, BYTES] of the process that has it.
 * Ranks sleep while nothing is asked.
 */
#ifndef RING_RANK_SERVE_H
#define RING_RANK_SERVE_H

#include <stdbool.h>

/* To the end of the requests; returns the exit status.  `bound`: each thread is bound to a CPU of its own. */
int rank_serve(bool bound);

#endif
