/*
 * isa.h: the instruction sets that variants are built for.
 *
 * isa.c is the only place that knows how each one is named and recognised, and which one a host
 * prefers; kernel.cmake is the only place that knows its compiler flags.
 */
#ifndef ATTN_ISA_H
#define ATTN_ISA_H

#include "attention.h"

/* What the ISA needs of the host, for `attnbench list`: "AVX2, FMA, ..."; where it is known, the part of it
 * that this host lacks. */
const char *attn_isa_needs(enum attn_isa isa);

/* The environment variable that makes a host seem to have these instruction sets alone, comma separated,
 * and the baseline, for tests; and whether it leaves one out. */
#define ATTN_ISA_MASK "ATTN_ISA_MASK"
bool attn_isa_is_masked(enum attn_isa isa);

/* What variants of ours for it are built as: on AArch64 ATTN_ISA_NEON for ATTN_ISA_BASELINE, and for
 * ATTN_ISA_SVE the one for the length of this host's vectors, of 128 bits where there are none; else what it
 * is. */
enum attn_isa attn_isa_built_as(enum attn_isa isa);

/* The one whose instructions it has: ATTN_ISA_AVX512 for ATTN_ISA_AVX512_2FMA, else itself. */
enum attn_isa attn_isa_instructions(enum attn_isa isa);

/* attn_isa_preference() of the processors of a vendor, as __builtin_cpu_is() names it: "intel", "amd". */
const enum attn_isa *attn_isa_preference_of(const char *vendor);

/* The first in the order of preference that this host can run, by its instructions: not ATTN_ISA_AVX512_2FMA, which
 * has those of ATTN_ISA_AVX512. */
enum attn_isa attn_isa_preferred(void);

#endif
