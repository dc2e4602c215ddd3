/*
 * sizes: prints how long struct attn_kernel and struct attn_caps are at least, up to what may be left out.
 */
#include <stdio.h>

#include "attention.h"

int main(void)
{
    const size_t caps = offsetof(struct attn_caps, max_dim);
    printf("%zu %zu\n", offsetof(struct attn_kernel, caps) + caps, caps);
    return 0;
}
