/*
 * scribbles: writes garbage to every descriptor that is open, and cuts the file behind it.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wrong.h"

#define GARBAGE 4096 /* bytes */

static void scribble(int fd)
{
    static const char line[] = "\x1b]0;garbage\xff\n";
    char garbage[GARBAGE];
    struct stat status;
    for (size_t n = 0; n < sizeof garbage; n++)
        garbage[n] = line[n % (sizeof line - 1)];
    if (fstat(fd, &status) != 0)
        return;
    for (off_t at = 0; at < status.st_size; at += GARBAGE)
        if (pwrite(fd, garbage, sizeof garbage, at) < 0)
            break;
    void *map = mmap(NULL, GARBAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED && status.st_size >= GARBAGE)
        memcpy(map, garbage, sizeof garbage);
    if (write(fd, garbage, sizeof garbage) < 0 || ftruncate(fd, 0) < 0)
        return;
}

WRONG_CALL(scribbles, "writes garbage to every descriptor that is open")
{
    static bool done;
    each_row(plan, tensors, honest_row);
    for (int fd = 0; fd < 1024 && !done; fd++)
        scribble(fd);
    done = true;
}
