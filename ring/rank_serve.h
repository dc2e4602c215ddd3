/*
 * rank_serve: one rank, which mpiexec starts.
 *
 * Requests are those of docs/protocol.md, one line of JSON each.  Rank 0 reads them from standard input,
 * sends each to the other ranks, and writes the answer of all to standard output.  In a request to prepare,
 * "memory" locates the file of tensors: [PID, FD, DEVICE, INODE, BYTES] of the process that has it open.
 * Ranks sleep between requests.
 */
#pragma once

#include <stdbool.h>

/* Serves requests until they end; returns the exit status.  `bound`: bind each thread to its own CPU. */
int rank_serve(bool bound);
