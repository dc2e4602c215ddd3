/*
 * messages: all that is said to MPI.
 *
 * MPI libraries need not move data while nobody calls them, and Open MPI over TCP does not: ring_progress()
 * is called between pieces of the computation.  All time in here counts as waiting, as nothing is computed
 * in it.
 */
#include <mpi.h>
#include <limits.h>
#include <string.h>

#include "ring_private.h"

#define TELL 1 /* tags */
#define MEMORY 2
#define TRAVEL 3

/* ---- ranks ----------------------------------------------------------------------------------- */

bool ring_start(struct ring_ranks *ranks)
{
    MPI_Comm host;
    int provided;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
        return false;
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &ranks->local);
    MPI_Comm_size(host, &ranks->locals);
    MPI_Comm_free(&host);
    return true;
}

void ring_end(void)
{
    MPI_Finalize();
}

_Noreturn void ring_abort(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
    __builtin_trap(); /* MPI_Abort does not return */
}

void ring_library(char text[RING_NAME])
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    const size_t n = strcspn(version, ",\n");
    const size_t taken = n < RING_NAME ? n : RING_NAME - 1;
    memcpy(text, version, taken);
    text[taken] = 0;
    for (char *tab; (tab = strchr(text, '\t'));) /* MPICH has one */
        *tab = ' ';
}

void ring_tell(const char *text, int ranks)
{
    for (int to = 1; to < ranks; to++)
        MPI_Send(text, (int)strlen(text) + 1, MPI_CHAR, to, TELL, MPI_COMM_WORLD);
}

bool ring_hear(char text[RING_LINE])
{
    int there;
    MPI_Iprobe(0, TELL, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there)
        MPI_Recv(text, RING_LINE, MPI_CHAR, 0, TELL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return there;
}

void ring_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

void ring_gather(const void *mine, size_t bytes, void *all)
{
    MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void ring_largest(double *x, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

void ring_sum(double *x, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The next message of so many bytes that are left. */
static int message(size_t bytes)
{
    return (int)(bytes < RING_MESSAGE ? bytes : RING_MESSAGE);
}

/* Sends or receives, in as many messages as it takes. */
static void move(void *data, size_t bytes, int other, bool send)
{
    for (char *at = data; bytes; at += message(bytes), bytes -= (size_t)message(bytes))
        if (send)
            MPI_Send(at, message(bytes), MPI_BYTE, other, MEMORY, MPI_COMM_WORLD);
        else
            MPI_Recv(at, message(bytes), MPI_BYTE, other, MEMORY, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

void ring_send(const void *data, size_t bytes, int to)
{
    move((void *)data, bytes, to, true);
}

void ring_receive(void *data, size_t bytes, int from)
{
    move(data, bytes, from, false);
}

/* ---- messages of a call ---------------------------------------------------------------------- */

static void enter(struct ring *ring)
{
    const double now = ring->setting.clock();
    ring->times->computing_s += now - ring->entered_s;
    ring->entered_s = now;
}

static void leave(struct ring *ring)
{
    const double now = ring->setting.clock();
    ring->times->waiting_s += now - ring->entered_s;
    ring->entered_s = now;
}

/* Requests of the transfer under way; there is one at a time. */
static MPI_Request requests[2 * RING_MESSAGES];

void ring_depart(struct ring *ring, const void *going, size_t going_bytes, void *coming,
                 size_t coming_bytes, struct ring_travel *travel)
{
    const int ranks = ring->setting.ranks, rank = ring->setting.rank;
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    enter(ring);
    travel->count = 0;
    ring->times->sent_bytes += (double)going_bytes;
    for (char *at = coming; coming_bytes;
         at += message(coming_bytes), coming_bytes -= (size_t)message(coming_bytes))
        MPI_Irecv(at, message(coming_bytes), MPI_BYTE, before, TRAVEL, MPI_COMM_WORLD,
                  &requests[travel->count++]);
    for (const char *at = going; going_bytes;
         at += message(going_bytes), going_bytes -= (size_t)message(going_bytes))
        MPI_Isend(at, message(going_bytes), MPI_BYTE, next, TRAVEL, MPI_COMM_WORLD,
                  &requests[travel->count++]);
    leave(ring);
}

void ring_progress(struct ring *ring, struct ring_travel *travel)
{
    int all;
    if (!travel->count)
        return;
    enter(ring);
    MPI_Testall(travel->count, requests, &all, MPI_STATUSES_IGNORE);
    leave(ring);
    if (all)
        travel->count = 0;
}

void ring_arrive(struct ring *ring, struct ring_travel *travel)
{
    enter(ring);
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): ring_depart() made the calls */
    MPI_Waitall(travel->count, requests, MPI_STATUSES_IGNORE);
    travel->count = 0;
    leave(ring);
}

static void move_sums(struct ring *ring, const struct ring_sums *sums, int other, bool send)
{
    const size_t rows = ring_sum_rows(ring), dim = ring->problem.v_dim;
    enter(ring);
    move(sums->o, rows * dim * sizeof *sums->o, other, send);
    move(sums->lse, rows * sizeof *sums->lse, other, send);
    if (send)
        ring->times->sent_bytes += (double)(rows * (dim + 1) * sizeof *sums->o);
    leave(ring);
}

void ring_send_sums(struct ring *ring, const struct ring_sums *sums, int to)
{
    move_sums(ring, sums, to, true);
}

void ring_receive_sums(struct ring *ring, const struct ring_sums *sums, int from)
{
    move_sums(ring, sums, from, false);
}
