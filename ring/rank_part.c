/*
 * rank_part: allocates a rank's memory, and copies rows into and out of it.
 */
#include "rank_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- rows ------------------------------------------------------------------------------------ */

/* A tensor of a set in the file, and its rows in a rank's memory. */
struct rows {
    const struct attn_tensor *whole;
    struct ring_part part;
    size_t batch, heads, dim;
};

static size_t bytes_of(const struct rows *r)
{
    return r->batch * r->heads * ring_part_rows(&r->part) * r->dim *
           attn_dtype_size(r->whole->dtype);
}

/* Copies rows of the file to dense memory, or back. */
static void copy(const struct rows *r, char *dense, bool back)
{
    const size_t bytes = r->dim * attn_dtype_size(r->whole->dtype);
    for (size_t b = 0; b < r->batch; b++)
        for (size_t h = 0; h < r->heads; h++)
            for (int n = 0; n < 2; n++)
                for (size_t i = 0; i < r->part.rows[n]; i++, dense += bytes) {
                    void *row = attn_row(r->whole, b, h, r->part.first[n] + i);
                    memcpy(back ? row : dense, back ? dense : row, bytes);
                }
}

/* q, k, v, o and lse of a rank, and its memory for them if it is this rank. */
enum { Q, K, V, O, LSE, COUNT };

static void rows_of(const struct rank_part *part, size_t set, int rank, struct rows rows[COUNT])
{
    const struct attn_problem *p = &part->problem;
    const struct attn_tensors *t = &part->set[set].whole;
    const struct ring_parts parts = ring_parts(part->ring, rank);
    rows[Q] = (struct rows){&t->q, parts.q, p->batch, p->q_heads, p->qk_dim};
    rows[K] = (struct rows){&t->k, parts.kv, p->batch, p->kv_heads, p->qk_dim};
    rows[V] = (struct rows){&t->v, parts.kv, p->batch, p->kv_heads, p->v_dim};
    rows[O] = (struct rows){&t->o, parts.o, p->batch, p->q_heads, p->v_dim};
    rows[LSE] = (struct rows){&t->lse, parts.o, p->batch, p->q_heads, 1};
}

static void *memory_of(const struct rank_part *part, size_t set, const struct rows rows[COUNT],
                       int which)
{
    const struct rank_set *s = &part->set[set];
    void *const memory[COUNT] = {s->q, s->kv, (char *)s->kv + bytes_of(&rows[K]), s->o, s->lse};
    return memory[which];
}

static bool wanted(const struct rank_part *part, int which)
{
    const unsigned outputs = part->problem.outputs;
    return which < O || outputs & (which == O ? ATTN_OUTPUT_O : ATTN_OUTPUT_LSE);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* On rank 0: sends or receives tensors [first, last) of a rank without the file. */
static void serve(struct rank_part *part, size_t set, int rank, int first, int last)
{
    struct rows rows[COUNT];
    rows_of(part, set, rank, rows);
    for (int n = first; n <= last; n++) {
        const size_t bytes = bytes_of(&rows[n]);
        char *packed = wanted(part, n) && bytes ? malloc(bytes) : NULL;
        if (!packed && wanted(part, n) && bytes)
            ring_abort(3);
        if (packed && first == Q) {
            copy(&rows[n], packed, false);
            ring_send(packed, bytes, rank);
        } else if (packed) {
            ring_receive(packed, bytes, rank);
            copy(&rows[n], packed, true);
        }
        free(packed);
    }
}

static void move(struct rank_part *part, size_t set, int first, int last)
{
    struct rows rows[COUNT];
    rows_of(part, set, part->rank, rows);
    for (int n = first; n <= last; n++) {
        void *memory = memory_of(part, set, rows, n);
        if (!wanted(part, n))
            continue;
        if (part->file)
            copy(&rows[n], memory, first != Q);
        else if (first == Q)
            ring_receive(memory, bytes_of(&rows[n]), 0);
        else
            ring_send(memory, bytes_of(&rows[n]), 0);
    }
    for (int rank = 1; part->rank == 0 && rank < part->ranks; rank++)
        if (!part->has_file[rank])
            serve(part, set, rank, first, last);
    ring_barrier(); /* all copies are complete before rank 0 answers */
}

void rank_part_load(struct rank_part *part, size_t set)
{
    move(part, set, Q, V);
}

void rank_part_store(struct rank_part *part, size_t set)
{
    move(part, set, O, LSE);
}

void rank_part_poison(struct rank_part *part, size_t set)
{
    struct rows rows[COUNT];
    rows_of(part, set, part->rank, rows);
    memset(part->set[set].o, 0xff, bytes_of(&rows[O]));
    memset(part->set[set].lse, 0xff, bytes_of(&rows[LSE]));
}

struct ring_operands rank_part_operands(const struct rank_part *part, size_t set)
{
    const struct rank_set *s = &part->set[set];
    return (struct ring_operands){s->q, s->kv, s->o, s->lse};
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool open_file(struct rank_part *part, const json_t *request)
{
    json_int_t pid, fd, device, inode, bytes;
    if (json_unpack((json_t *)request, "{s:[I, I, I, I, I]}", "memory", &pid, &fd, &device, &inode,
                    &bytes) != 0)
        return false;
    const struct memory_file known = {(pid_t)pid, (int)fd, (uint64_t)device, (uint64_t)inode,
                                      (size_t)bytes};
    const int here = memory_file_open(&known);
    if (here < 0)
        return false;
    part->file_bytes = known.bytes;
    part->file = mmap(NULL, known.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, here, 0);
    close(here);
    if (part->file == MAP_FAILED)
        part->file = NULL;
    return part->file;
}

/* The header of the file, and the offset of its data; NULL: this rank has no file. */
static json_t *header_of(const struct rank_part *part, size_t *begin)
{
    uint64_t length;
    json_error_t error;
    if (!part->file || part->file_bytes < sizeof length)
        return NULL;
    memcpy(&length, part->file, sizeof length);
    *begin = sizeof length + (size_t)length;
    return *begin <= part->file_bytes
               ? json_loadb(part->file + sizeof length, (size_t)length, 0, &error)
               : NULL;
}

/* Finds tensors of a set in the file by name. */
struct named {
    const json_t *header; /* NULL: no file on this host, only the shape is known */
    size_t begin, set;
};

static struct attn_tensor tensor(const struct rank_part *part, const struct named *in,
                                 const char *name, enum attn_dtype dtype, size_t heads, size_t rows,
                                 size_t dim, bool heads_first)
{
    const ptrdiff_t d = (ptrdiff_t)dim, h = (ptrdiff_t)heads, n = (ptrdiff_t)rows;
    struct attn_tensor t = {.dtype = dtype, .stride = {h * n * d, n * d, d, 1}};
    char key[32];
    if (!heads_first) {
        t.stride[1] = d;
        t.stride[2] = h * d;
    }
    snprintf(key, sizeof key, "%s.%zu", name, in->set);
    const json_t *place = json_object_get(json_object_get(in->header, key), "data_offsets");
    if (place)
        t.data = part->file + in->begin + json_integer_value(json_array_get(place, 0));
    return t;
}

static bool open_set(struct rank_part *part, const struct named *in)
{
    const struct attn_problem *p = &part->problem;
    const bool first = p->layout == ATTN_BHSD;
    struct rank_set *s = &part->set[in->set];
    struct attn_tensors *t = &s->whole;
    struct rows rows[COUNT];
    t->q = tensor(part, in, "q", p->dtype, p->q_heads, p->q_len, p->qk_dim, first);
    t->k = tensor(part, in, "k", p->dtype, p->kv_heads, p->kv_len, p->qk_dim, first);
    t->v = tensor(part, in, "v", p->dtype, p->kv_heads, p->kv_len, p->v_dim, first);
    t->o = tensor(part, in, "o", p->dtype, p->q_heads, p->q_len, p->v_dim, first);
    t->lse = tensor(part, in, "lse", ATTN_F32, p->q_heads, p->q_len, 1, true);
    rows_of(part, in->set, part->rank, rows);
    const size_t q_rows = p->batch * p->q_heads * ring_part_rows(&rows[Q].part);
    s->q = malloc(bytes_of(&rows[Q]) + 1);
    s->kv = malloc(bytes_of(&rows[K]) + bytes_of(&rows[V]) + 1);
    s->o = malloc(bytes_of(&rows[O]) + 1);
    s->lse = malloc(q_rows * sizeof *s->lse +
                    1); /* every rank needs it, whether it is an output or not */
    return s->q && s->kv && s->o && s->lse;
}

bool rank_part_open(struct rank_part *part, const json_t *request,
                    const struct ring_setting *setting, struct rank_report *report)
{
    const char *reason = "wrong request";
    *part =
        (struct rank_part){.problem = *setting->problem,
                           .rank = setting->rank,
                           .ranks = setting->ranks,
                           .sets = (size_t)json_integer_value(json_object_get(request, "sets"))};
    struct named in = {.begin = 0};
    json_t *header = open_file(part, request) ? header_of(part, &in.begin) : NULL;
    const bool here = header;
    in.header = header;
    part->has_file = calloc((size_t)setting->ranks, sizeof *part->has_file);
    if (!part->has_file)
        ring_abort(3);
    ring_gather(&here, sizeof here, part->has_file);
    bool right = part->sets >= 1 && part->sets <= RANK_SETS;
    if (right && !here && setting->rank == 0) {
        right = false;
        reason = "rank 0 is on another host than this program: the first host of --hostfile must "
                 "be this one";
    }
    if (right && !(part->ring = ring_open(setting, &reason))) {
        right = false;
        report->unsupported = true;
    }
    for (; right && in.set < part->sets; in.set++)
        if (!(right = open_set(part, &in)))
            reason = "out of memory";
    json_decref(header);
    if (!right)
        snprintf(report->why, sizeof report->why, "%s", reason);
    return right;
}

void rank_part_close(struct rank_part *part)
{
    for (size_t s = 0; s < part->sets && s < RANK_SETS; s++) {
        free(part->set[s].q);
        free(part->set[s].kv);
        free(part->set[s].o);
        free(part->set[s].lse);
    }
    ring_close(part->ring);
    if (part->file)
        munmap(part->file, part->file_bytes);
    free(part->has_file);
    *part = (struct rank_part){.ring = NULL};
}
