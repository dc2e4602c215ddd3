/*
 * flush.h: flush-to-zero and denormals-are-zero of the calling thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined __x86_64__
static inline void flush_subnormals(bool on)
{
    const unsigned bits = 0x8040; /* of MXCSR */
    const unsigned others = __builtin_ia32_stmxcsr() & ~bits;
    __builtin_ia32_ldmxcsr(on ? others | bits : others);
}
#elif defined __aarch64__
static inline void flush_subnormals(bool on)
{
    const uint64_t bit = 1u << 24; /* of FPCR */
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(on ? fpcr | bit : fpcr & ~bit));
}
#else
_Static_assert(0, "how does this processor flush subnormal numbers?");
#endif
