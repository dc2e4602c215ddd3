/*
 * build: which build of the program this is; build_info.cmake writes the facts.
 */
#include "build.h"

#include <stdio.h>

#include "build_info.h"

json_t *build_describe(void)
{
    return json_pack("{s:s, s:o, s:b, s:s, s:s, s:s}", "version", BUILD_VERSION, "commit",
                     *BUILD_COMMIT ? json_string(BUILD_COMMIT) : json_null(), "dirty", BUILD_DIRTY,
                     "compiler", BUILD_COMPILER, "flags", BUILD_FLAGS, "type", BUILD_TYPE);
}

const char *build_version(void)
{
    return BUILD_VERSION;
}

void build_line(char text[160])
{
    snprintf(text, 160, "attnbench %s (%s%.12s%s) %s", BUILD_VERSION,
             *BUILD_COMMIT ? "commit " : "no commit known", BUILD_COMMIT,
             BUILD_DIRTY ? ", modified" : "", BUILD_COMPILER);
}
