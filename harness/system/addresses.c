/*
 * addresses: as the kernel and this process's personality say.
 */
#include "addresses.h"

#include <stdio.h>
#include <sys/personality.h>

#define ASK 0xffffffff /* personality(2): returns the persona and leaves it as it is */

bool addresses_are_drawn(void)
{
    FILE *file = fopen("/proc/sys/kernel/randomize_va_space", "r");
    int drawn = 1; /* as everywhere unless someone turned it off */
    if (file) {
        if (fscanf(file, "%d", &drawn) != 1)
            drawn = 1;
        fclose(file);
    }
    return drawn && !(personality(ASK) & ADDR_NO_RANDOMIZE);
}
