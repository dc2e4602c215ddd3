/*
 * module: loads one, and looks whether it is of this build.
 */
#include "module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "system/process.h"

#define ADVICE "build it: scripts/build release"

bool module_built(const char *name, char *message, size_t message_size)
{
    char path[PATH_MAX];
    if (process_beside(name, path, sizeof path) && access(path, R_OK) == 0)
        return true;
    snprintf(message, message_size, "%s is not beside the program; " ADVICE, name);
    return false;
}

/* Whether a module is of this build, as far as its commit and compiler tell. */
static bool same_build(void *module)
{
    char ours[160], theirs[160] = "";
    void (*line)(char text[160]);
    void *symbol = dlsym(module, "build_line");
    memcpy(&line, &symbol, sizeof line); /* ISO C cannot cast a data pointer to a function's */
    if (line)
        line(theirs);
    build_line(ours);
    return strcmp(ours, theirs) == 0;
}

void *module_symbol(const char *name, const char *symbol, char *message, size_t message_size)
{
    char path[PATH_MAX];
    if (!module_built(name, message, message_size) || !process_beside(name, path, sizeof path))
        return NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        snprintf(message, message_size, "%s", dlerror());
        return NULL;
    }
    void *found = same_build(module) ? dlsym(module, symbol) : NULL;
    if (!found)
        snprintf(message, message_size, "%s is of another build; " ADVICE, name);
    return found;
}
