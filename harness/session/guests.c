/*
 * guests: asking a worker what kernels a file has, and believing nothing that it says unseen.
 */
#include "guests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "guest_file.h"
#include "guest_kernels.h"
#include "launch.h"
#include "options.h"
#include "problem/select.h"
#include "session.h"

#define GUESTS \
    (2 * OPTIONS_MAX_PLUGINS + 1) /* of the command line, of an experiment, and the rivals */
#define DEADLINE_S 20.0           /* to load a file and say what it has */

static struct guest_refusal refusals[GUESTS];
static size_t refused;

const struct guest_refusal *guests_refused(size_t i)
{
    return i < refused ? &refusals[i] : NULL;
}

int guests_code(bool rivals)
{
    int code = EXIT_AS_ASKED;
    for (size_t i = 0; i < refused && code != EXIT_KERNEL; i++)
        if (rivals || !refusals[i].guest->rivals)
            code = refusals[i].state == CELL_UNAVAILABLE || refusals[i].state == CELL_SKIPPED
                       ? EXIT_ENVIRONMENT
                       : EXIT_KERNEL;
    return code;
}

/* ---- refusing -------------------------------------------------------------------------------- */

/* "mine" of "some/where/Mine-2.so", "mine_2" there: what a kernel can be called. */
static void name_of(const char *path, char name[64])
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t n = 0;
    for (; file[n] && (n == 0 || file[n] != '.') && n < 63; n++) {
        const char c = file[n];
        const bool lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        name[n] = (char)(lower ? c : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : '_');
    }
    name[n] = 0;
}

static void refuse_guest(const struct guest *guest, enum cell_state state, const char *why)
{
    struct guest_refusal *refusal = &refusals[refused++];
    *refusal = (struct guest_refusal){.guest = guest, .state = state};
    name_of(guest->rivals ? "rivals" : guest->path, refusal->name);
    snprintf(refusal->why, sizeof refusal->why, "%s", why);
    progress_say("plug-in %s: %s: %s", guest->path, cell_state_name(state), why);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Adds a file's kernels, or a refusal; false: interrupted. */
static bool ask(struct guest *guest, double deadline_s)
{
    char why[640];
    if (!guest_file_read(guest, why, sizeof why)) {
        refuse_guest(guest, CELL_UNAVAILABLE, why);
        return true;
    }
    if (guest->rivals)
        *guest->digest = 0;
    struct launch launch = launch_describe("", ATTN_ISA_BASELINE, guest, deadline_s);
    if (json_is_true(json_object_get(launch.answer, "program")) && !guest->program &&
        guest_file_program(guest, launch.why, sizeof launch.why)) {
        launch_free(&launch);
        launch = launch_describe("", ATTN_ISA_BASELINE, guest, deadline_s);
    }
    if (launch.interrupted) {
        launch_free(&launch);
        return false;
    }
    if (launch.state != CELL_OK)
        refuse_guest(guest, launch.state, launch.why);
    else if (!guest->program && *guest->arguments)
        refuse_guest(guest, CELL_UNAVAILABLE, "a shared object, which takes no arguments");
    else if (!guest_kernels_add(guest, json_object_get(launch.answer, "kernels"), why, sizeof why))
        refuse_guest(guest, CELL_UNAVAILABLE, why);
    launch_free(&launch);
    return true;
}

/* What --plugin was given, once. */
static struct guest *guest_of(const char *text)
{
    static struct guest guests[GUESTS];
    static size_t count;
    if (count == GUESTS)
        return NULL;
    struct guest *guest = &guests[count];
    guest_file_name(text, guest);
    for (size_t i = 0; i < count; i++)
        if (strcmp(guests[i].path, guest->path) == 0 &&
            strcmp(guests[i].arguments, guest->arguments) == 0)
            return NULL;
    count++;
    return guest;
}

/* ---- rivals ---------------------------------------------------------------------------------- */

static const char *rivals_program(void)
{
    static const char *const places[] = {ATTNBENCH_BUILD_RIVALS, ATTNBENCH_INSTALLED_RIVALS};
    const char *chosen = getenv("ATTNBENCH_RIVALS");
    for (size_t i = 0; !chosen && i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return chosen && access(chosen, X_OK) == 0 ? chosen : NULL;
}

/* Whether a list of --kernel has the group of the rivals, or what may be one of them. */
static bool names_rivals(const char *list)
{
    struct selected selected[SELECT_MAX];
    size_t count;
    char message[512];
    char item[64];
    for (const char *at = list; at && select_next(&at, item, sizeof item);)
        if (strcmp(item, "rivals") == 0)
            return true;
    return list && !select_kernels(list, selected, &count, message, sizeof message);
}

bool guests_load(const char *const *paths, size_t count, const char *kernels, double timeout_s)
{
    const double deadline_s = timeout_s > 0 ? fmin(timeout_s, DEADLINE_S) : DEADLINE_S;
    const char *program = rivals_program();
    for (size_t i = 0; i < count; i++) {
        struct guest *guest = guest_of(paths[i]);
        if (guest && !ask(guest, deadline_s))
            return false;
    }
    if (program && names_rivals(kernels)) {
        struct guest *guest = guest_of(program);
        if (guest) {
            guest->rivals = true;
            if (!ask(guest, deadline_s))
                return false;
        }
    }
    catalogue_incomplete(refused);
    return true;
}
