/*
 * noted: a shared object that is no library of anything, and writes down which processes load it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void note(void)
{
    const char *path = getenv("ATTNBENCH_NOTE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
}
