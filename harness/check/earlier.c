/*
 * earlier: recognises a wrong O that is the result of an earlier call.
 *
 * Of each call only the hashes of its operands and of its O are kept.  A wrong O whose hash is that of an
 * earlier, right call was computed from the operands of that call.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "evidence.h"

struct earlier_call {
    uint64_t operands, o;
    char phase[64];
};

static uint64_t hash_operands(const struct trial *trial)
{
    return XXH3_64bits(trial->set.checksum, sizeof trial->set.checksum);
}

/* A hash of O's elements, without the padding between rows. */
static uint64_t hash_o(const struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensor *o = &trial->set.tensors.o;
    const size_t bytes = p->v_dim * attn_dtype_size(o->dtype);
    uint64_t hash = 0;
    for (size_t row = 0; row < tensors_rows(p, &trial->set.tensors); row++) {
        const struct tensors_place at = tensors_place(p, &trial->set.tensors, row);
        hash = XXH3_64bits_withSeed(attn_row(o, at.b, at.h, at.row), bytes, hash);
    }
    return hash;
}

void earlier_note(const struct trial *trial)
{
    struct checker *checker = trial->checker;
    const size_t n = checker->earlier_count;
    if (!(trial->problem.outputs & ATTN_OUTPUT_O))
        return;
    if (!(n & (n - 1))) { /* a power of two: full */
        struct earlier_call *more = realloc(checker->earlier, (n ? 2 * n : 1) * sizeof *more);
        if (!more)
            return;
        checker->earlier = more;
    }
    checker->earlier[n] =
        (struct earlier_call){.operands = hash_operands(trial), .o = hash_o(trial)};
    memcpy(checker->earlier[n].phase, trial->phase, sizeof trial->phase);
    checker->earlier_count++;
}

bool earlier_reason(struct evidence *e, char *text, size_t size)
{
    const struct trial *trial = e->trial;
    const struct checker *checker = trial->checker;
    if (e->wrong.tensor[0] != 'o' || isnan(e->wrong.got) || e->wrong.got == 0)
        return false; /* many wrong results are NaN or 0 */
    const uint64_t operands = hash_operands(trial), o = hash_o(trial);
    for (size_t n = 0; n < checker->earlier_count; n++) {
        const struct earlier_call *earlier = &checker->earlier[n];
        if (earlier->o == o && earlier->operands != operands) {
            snprintf(text, size, "its result is, to the bit, that of earlier operands (%s)",
                     earlier->phase);
            return true;
        }
    }
    return false;
}
