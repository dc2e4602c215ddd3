/* isa_of_host: a program that prints the instruction sets of this host as a list of CMake (kernel.cmake). */
#include "isa.h"

#include <stdio.h>

int main(void)
{
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (attn_isa_available((enum attn_isa)isa))
            printf("%s;", attn_isa_name((enum attn_isa)isa));
    return 0;
}
