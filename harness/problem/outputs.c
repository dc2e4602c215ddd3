/*
 * outputs: storing and comparing.
 */
#include "outputs.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "tensors.h"

static size_t elements(const struct attn_problem *p)
{
    return p->batch * p->q_heads * p->q_len * p->v_dim;
}

size_t outputs_bytes(const struct attn_problem *problem)
{
    return elements(problem) * sizeof(float);
}

bool outputs_store(int fd, size_t slot, const struct attn_problem *p,
                   const struct attn_tensors *tensors)
{
    float *row = malloc(p->v_dim * sizeof *row);
    const size_t bytes = p->v_dim * sizeof *row;
    off_t at = (off_t)(slot * elements(p) * sizeof *row);
    bool stored = row;
    for (size_t n = 0; stored && n < tensors_rows(p, tensors); n++, at += (off_t)bytes) {
        const struct tensors_place place = tensors_place(p, tensors, n);
        for (size_t d = 0; d < p->v_dim; d++)
            row[d] = (float)tensors_get(&tensors->o, place.b, place.h, place.row, d);
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

/* Smallest and largest of the slots' values of one element. */
static void widen(const float *all, size_t n, size_t element, const size_t *slots, size_t count,
                  struct outputs_difference *widest)
{
    size_t lowest = 0, highest = 0;
    for (size_t s = 1; s < count; s++) {
        const float x = all[slots[s] * n + element];
        lowest = x < all[slots[lowest] * n + element] ? s : lowest;
        highest = x > all[slots[highest] * n + element] ? s : highest;
    }
    const double apart =
        (double)all[slots[highest] * n + element] - all[slots[lowest] * n + element];
    if (apart > widest->largest)
        *widest = (struct outputs_difference){apart, lowest, highest};
}

bool outputs_compare(int fd, const struct attn_problem *problem, const size_t *slots, size_t count,
                     struct outputs_difference *difference)
{
    const size_t n = elements(problem);
    size_t last = 0;
    for (size_t s = 0; s < count; s++)
        last = slots[s] > last ? slots[s] : last;
    const size_t bytes = (last + 1) * n * sizeof(float);
    if (count < 2 || lseek(fd, 0, SEEK_END) < (off_t)bytes)
        return false;
    const float *all = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        return false;
    *difference = (struct outputs_difference){-1, 0, 0};
    for (size_t element = 0; element < n; element++)
        widen(all, n, element, slots, count, difference);
    munmap((void *)all, bytes);
    return true;
}
