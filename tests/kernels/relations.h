/*
 * relations: pairs of problems that ask for the same attention in two ways, such as a window and a boolean
 * mask that hides the same keys.  A kernel must give the same O and LSE for both.  No reference says which:
 * it only bounds by how much they may differ, the error of the one plus that of the other.  For tests;
 * include behind cmocka.h.
 */
#pragma once

#include "drawn_search.h"

/* Operands that say the same as others, or as a part of them. */
struct related {
    struct drawn_operands d; /* what it did not make itself belongs to the others */
    size_t b, i;             /* its row (0, h, 0) is row (b, h, i) of the others */
};

struct relation {
    const char *name;
    unsigned must_masks, must_options; /* of the first problem */
    unsigned masks, options;           /* which it may have beside them */
    unsigned form_masks;               /* those of the other form for sure */
    enum { QUANTISED_MAYBE, QUANTISED_ALWAYS, QUANTISED_NEVER } quantised;
    /* Optional: changes drawn operands so that the other form has the same numbers, rounded nowhere. */
    void (*prepare)(struct drawn_operands *d);
    /* Makes part n of the other form of `a`, beginning from a copy of `a` in `to`; results are the
     * caller's work.  False past the last part. */
    bool (*relate)(const struct drawn_operands *a, size_t n, struct related *to);
};

/* All of them; NULL past the last one, or where none has the name. */
const struct relation *relation_at(size_t n);
const struct relation *relation_named(const char *name);

/* Problems to hold it against, as far as the kernel has what they need. */
struct drawn_limits relation_limits(const struct relation *relation,
                                    const struct attn_kernel *kernel);

/* Properties (drawn_search.h) whose context is a struct relation: that both forms agree; and that the first
 * is as the reference has it, too. */
bool relation_holds(const struct drawn_property *property, const struct problem_case *c);
bool relation_holds_judged(const struct drawn_property *property, const struct problem_case *c);

/* ---- for the table ------------------------------------------------------------------------- */

/* relation_terms.c: what hides keys or is added to scores, written otherwise. */
bool relate_as_mask(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_as_bias(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_slopes_as_bias(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_sink_as_key(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_uncapped(const struct drawn_operands *a, size_t n, struct related *to);
void relation_exact_slopes(struct drawn_operands *d);
void relation_high_softcap(struct drawn_operands *d);

/* relation_keys.c: keys that lie elsewhere or are of another type. */
bool relate_contiguous(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_apart(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_floats(const struct drawn_operands *a, size_t n, struct related *to);
void relation_exact_scales(struct drawn_operands *d);

/* K or V of `a`, moved back by `first` keys, in a tensor as the other problem has it; times its scale,
 * unless that is NULL. */
struct attn_tensor relation_keys(const struct drawn_operands *a, struct related *to,
                                 const struct attn_tensor *keys, const struct attn_tensor *scale,
                                 size_t columns, size_t first);

/* relation_parts.c: some of the rows. */
bool relate_single(const struct drawn_operands *a, size_t n, struct related *to);
bool relate_chunk(const struct drawn_operands *a, size_t n, struct related *to);
