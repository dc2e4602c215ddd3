/*
 * outputs: stores and compares outputs.
 */
#include "outputs.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "tensors.h"

/* Elements of O; 0 if it is not an output. */
static size_t elements(const struct attn_problem *p)
{
    return p->outputs & ATTN_OUTPUT_O ? p->batch * p->q_heads * p->q_len * p->v_dim : 0;
}

/* Bytes of a stored element: f32 holds 16-bit elements exactly. */
static size_t element_bytes(const struct attn_problem *p)
{
    return attn_dtype_size(attn_statistics_dtype(p));
}

size_t outputs_bytes(const struct attn_problem *problem)
{
    return elements(problem) * element_bytes(problem);
}

bool outputs_store(int fd, size_t slot, const struct attn_problem *p,
                   const struct attn_tensors *tensors)
{
    if (!elements(p))
        return true;
    const size_t bytes = p->v_dim * element_bytes(p);
    void *row = malloc(bytes);
    const struct attn_tensor stored_row = {row, attn_statistics_dtype(p), {0}};
    off_t at = (off_t)(slot * outputs_bytes(p));
    bool stored = row;
    for (size_t n = 0; stored && n < tensors_rows(p, tensors); n++, at += (off_t)bytes) {
        const struct tensors_place place = tensors_place(p, tensors, n);
        for (size_t d = 0; d < p->v_dim; d++)
            tensors_set(&stored_row, 0, 0, 0, d,
                        tensors_get(&tensors->o, place.b, place.h, place.row, d));
        stored = pwrite(fd, row, bytes, at) == (ssize_t)bytes;
    }
    free(row);
    return stored;
}

bool outputs_copy(int from, size_t from_slot, int to, size_t to_slot,
                  const struct attn_problem *problem)
{
    const size_t bytes = outputs_bytes(problem);
    off_t at = (off_t)(from_slot * bytes);
    size_t left = bytes;
    if (lseek(to, (off_t)(to_slot * bytes), SEEK_SET) < 0)
        return false;
    while (left) {
        const ssize_t n = sendfile(to, from, &at, left);
        if (n <= 0)
            return false;
        left -= (size_t)n;
    }
    return true;
}

/* Updates *difference by an element's smallest and largest value over the slots. */
static void widen(const struct attn_tensor *all, size_t n, size_t element, const size_t *slots,
                  size_t count, struct outputs_difference *widest)
{
    size_t lowest = 0, highest = 0;
    double least = tensors_get(all, 0, 0, 0, slots[0] * n + element), most = least;
    for (size_t s = 1; s < count; s++) {
        const double x = tensors_get(all, 0, 0, 0, slots[s] * n + element);
        lowest = x < least ? s : lowest;
        least = x < least ? x : least;
        highest = x > most ? s : highest;
        most = x > most ? x : most;
    }
    if (most - least > widest->largest)
        *widest = (struct outputs_difference){most - least, lowest, highest};
}

bool outputs_compare(int fd, const struct attn_problem *problem, const size_t *slots, size_t count,
                     struct outputs_difference *difference)
{
    const size_t n = elements(problem);
    size_t last = 0;
    for (size_t s = 0; s < count; s++)
        last = slots[s] > last ? slots[s] : last;
    const size_t bytes = (last + 1) * outputs_bytes(problem);
    if (count < 2 || !n || lseek(fd, 0, SEEK_END) < (off_t)bytes)
        return false;
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return false;
    const struct attn_tensor all = {data, attn_statistics_dtype(problem), {0}};
    *difference = (struct outputs_difference){-1, 0, 0};
    for (size_t element = 0; element < n; element++)
        widen(&all, n, element, slots, count, difference);
    munmap(data, bytes);
    return true;
}
