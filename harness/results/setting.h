/*
 * setting: where a cell's threads run, where its memory lies, and environment variables of its workers.
 */
#pragma once

#include "system/machine.h"

#define SETTING_ENVIRONMENT \
    512 /* bytes of the variables' text, which is part of a cell's identity */
#define SETTING_TEXT (4 * SETTING_ENVIRONMENT + 128)

struct setting {
    /* "base" or "new" in a session of two settings, the same pointer in all cells; else NULL. */
    const char *name;
    enum placement placement;
    enum memory_policy memory;
    bool huge_pages; /* requested */
    bool cold;
    /* Variables in the shell's syntax, "A=1 B='x y'"; and a list of "NAME=value" that ends with NULL.  NULL:
     * none. */
    const char *environment;
    const char *const *variables;
};

/* Whether two settings are the same but for the name. */
bool setting_equal(const struct setting *a, const struct setting *b);

/* The value of a variable; NULL if it is not set. */
const char *setting_variable(const char *const *variables, const char *name);

/* The setting as options of `attnbench run`: "--placement cores --huge-pages --environment 'A=1'". */
void setting_text(const struct setting *setting, char text[SETTING_TEXT]);
