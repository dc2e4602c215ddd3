/*
 * float_env: the control words of x86; elsewhere what the C library and a subnormal number tell.
 */
#include "float_env.h"

#include <fenv.h>
#include <stdio.h>
#include <string.h>

static void add(char text[FLOAT_ENV_TEXT], const char *what)
{
    const size_t at = strlen(text);
    snprintf(text + at, FLOAT_ENV_TEXT - at, "%s%s", at ? ", " : "", what);
}

#ifdef __x86_64__

/* As the System V ABI starts a process: round to nearest, exceptions masked, subnormals kept, x87
 * with 64 bits of precision.  MXCSR's low six bits are flags. */
#define MXCSR 0x1f80U
#define MXCSR_FLAGS 0x3fU
#define X87 0x37fU

/* Bits of the two control words that belong together. */
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
