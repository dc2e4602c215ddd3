/*
 * main: commands, options, exit codes.  The only file that exits.
 */
#include <stdio.h>

#include "attention.h"

int main(void)
{
    size_t count;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t i = 0; i < count; i++)
        printf("%s/%s %s\n", kernels[i]->name, attn_isa_name(kernels[i]->isa), kernels[i]->summary);
    return 0;
}
