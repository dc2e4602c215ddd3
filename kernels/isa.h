/*
 * isa.h: the instruction sets that variants are built for.
 *
 * isa.c is the only place that knows how each one is named and recognised, and which one a host
 * prefers; kernel.cmake is the only place that knows its compiler flags.
 */
#pragma once

#include "attention.h"

/* Processor features that the ISA needs, for `attnbench list`: "AVX2, FMA, ..."; only those that this
 * host lacks, where that is known. */
const char *attn_isa_needs(enum attn_isa isa);

/* For tests: an environment variable that restricts the host to these instruction sets, comma separated,
 * beside the baseline. */
#define ATTN_ISA_MASK "ATTN_ISA_MASK"

/* The ISA under which our variants are built: on AArch64 ATTN_ISA_NEON for ATTN_ISA_BASELINE, and for
 * ATTN_ISA_SVE the one of this host's vector length (128 bits on hosts without SVE); all others are
 * themselves. */
enum attn_isa attn_isa_built_as(enum attn_isa isa);

/* The ISA with the same instructions: ATTN_ISA_AVX512 for ATTN_ISA_AVX512_2FMA, else itself. */
enum attn_isa attn_isa_instructions(enum attn_isa isa);

/* attn_isa_preference() of the processors of a vendor, as __builtin_cpu_is() names it: "intel", "amd". */
const enum attn_isa *attn_isa_preference_of(const char *vendor);

/* The first in the order of preference that this host can run, by its instructions: not ATTN_ISA_AVX512_2FMA,
 * which has those of ATTN_ISA_AVX512. */
enum attn_isa attn_isa_preferred(void);
