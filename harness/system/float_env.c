/*
 * float_env: reads the control registers of x86 and AArch64; elsewhere it asks the C library for the rounding
 * mode, and computes with a subnormal number.
 */
#include "float_env.h"

#include <fenv.h>
#include <stdint.h>

#include "base/message.h"

static void add(char text[FLOAT_ENV_TEXT], const char *what)
{
    message_add(text, FLOAT_ENV_TEXT, "%s%s", *text ? ", " : "", what);
}

#ifdef __x86_64__

/* Values at process start by the System V ABI: round to nearest, exceptions masked, subnormals kept, x87 with
 * 64 bits of precision.  MXCSR's low six bits are flags. */
#define MXCSR 0x1f80U
#define MXCSR_FLAGS 0x3fU
#define X87 0x37fU

/* Fields of the two control words. */
static const struct {
    bool x87;
    unsigned bits, value; /* named where the bits have that value */
    const char *says;
} meanings[] = {
    {false, 0x8000, 0x8000, "flush-to-zero set"},
    {false, 0x0040, 0x0040, "denormals-are-zero set"},
    {false, 0x6000, 0x2000, "rounding downward"},
    {false, 0x6000, 0x4000, "rounding upward"},
    {false, 0x6000, 0x6000, "rounding towards zero"},
    {true, 0x0c00, 0x0400, "x87 rounding downward"},
    {true, 0x0c00, 0x0800, "x87 rounding upward"},
    {true, 0x0c00, 0x0c00, "x87 rounding towards zero"},
    {true, 0x0300, 0x0000, "x87 precision of 24 bits"},
    {true, 0x0300, 0x0200, "x87 precision of 53 bits"},
};

bool float_env_changed(char text[FLOAT_ENV_TEXT])
{
    unsigned short x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    const unsigned mxcsr = __builtin_ia32_stmxcsr() & ~MXCSR_FLAGS;
    *text = 0;
    for (size_t n = 0; n < sizeof meanings / sizeof *meanings; n++)
        if (((meanings[n].x87 ? x87 : mxcsr) & meanings[n].bits) == meanings[n].value)
            add(text, meanings[n].says);
    if (MXCSR & ~mxcsr || X87 & ~x87 & 0x3fU)
        add(text, "an exception unmasked");
    return *text;
}

void float_env_reset(void)
{
    const unsigned short x87 = X87;
    __asm__ volatile("fldcw %0" : : "m"(x87));
    __builtin_ia32_ldmxcsr(MXCSR | (__builtin_ia32_stmxcsr() & MXCSR_FLAGS));
}

#elif defined __aarch64__

/* Linux starts a process with FPCR 0; flags are in another register.  Unimplemented bits read as 0. */
static const struct {
    uint64_t bits, value; /* named where the bits have that value */
    const char *says;
} meanings[] = {
    {1 << 24, 1 << 24, "flush-to-zero set"},
    {1 << 19, 1 << 19, "flush-to-zero of f16 set"},
    {1 << 0, 1 << 0, "flush-inputs-to-zero set"},
    {1 << 25, 1 << 25, "default NaN set"},
    {1 << 26, 1 << 26, "alternative f16 set"},
    {1 << 1, 1 << 1, "alternate handling set"},
    {1 << 2, 1 << 2, "scalars keep upper elements set"},
    {3 << 22, 1 << 22, "rounding upward"},
    {3 << 22, 2 << 22, "rounding downward"},
    {3 << 22, 3 << 22, "rounding towards zero"},
};
#define UNMASKED 0x9f00U /* bits that trap an exception */

bool float_env_changed(char text[FLOAT_ENV_TEXT])
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    *text = 0;
    for (size_t n = 0; n < sizeof meanings / sizeof *meanings; n++)
        if ((fpcr & meanings[n].bits) == meanings[n].value)
            add(text, meanings[n].says);
    if (fpcr & UNMASKED)
        add(text, "an exception unmasked");
    return *text;
}

void float_env_reset(void)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
}

#else

bool float_env_changed(char text[FLOAT_ENV_TEXT])
{
    volatile float subnormal = 0x1p-130F, normal = 0x1p-126F;
    *text = 0;
    if (subnormal * 2 == 0 || normal * 0.5F == 0)
        add(text, "flush-to-zero set");
    if (fegetround() != FE_TONEAREST)
        add(text, "another rounding mode set");
    return *text;
}

void float_env_reset(void)
{
    fesetenv(FE_DFL_ENV);
}

#endif
