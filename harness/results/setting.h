/*
 * setting: how a cell is measured: where its threads run, where its memory lies, what the environment of its
 * workers has.
 */
#ifndef HARNESS_RESULTS_SETTING_H
#define HARNESS_RESULTS_SETTING_H

#include "system/machine.h"

#define SETTING_ENVIRONMENT 512 /* bytes of its text, which is part of a cell's identity */
#define SETTING_TEXT (4 * SETTING_ENVIRONMENT + 128)

struct setting {
    /* "base" or "new" in a session of two, one string for all cells; NULL: it has one setting. */
    const char *name;
    enum placement placement;
    enum memory_policy memory;
    bool huge_pages; /* requested */
    bool cold;
    /* Its variables as words of a shell, "A=1 B='x y'", and each as "NAME=value", NULL behind the
     * last.  NULL: none. */
    const char *environment;
    const char *const *variables;
};

/* Whether everything but the name is the same. */
bool setting_equal(const struct setting *a, const struct setting *b);

/* The value of one of the variables; NULL where it is none of them. */
const char *setting_variable(const char *const *variables, const char *name);

/* The options of `attnbench run` that make it: "--placement cores --huge-pages --environment 'A=1'". */
void setting_text(const struct setting *setting, char text[SETTING_TEXT]);

#endif
