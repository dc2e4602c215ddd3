/*
 * guests: has a worker describe the kernels of a file, and checks everything in its answer.
 */
#include "guests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/members.h"
#include "base/progress.h"
#include "base/message.h"
#include "guest_file.h"
#include "isa.h"
#include "launch.h"
#include "options.h"
#include "problem/capabilities.h"
#include "problem/select.h"
#include "session.h"

#define NAME_MOST 63 /* bytes of a kernel's name in a cell */
#define KERNELS_MOST 64
#define DEADLINE_S 20.0    /* to load a file and describe it */
#define START_S_MOST 300.0 /* limit of a kernel's own start_s: the deadline of its preparation */

/* Most guests: of the command line, of an experiment, and the rivals. */
#define GUESTS (2 * OPTIONS_MAX_PLUGINS + 1)

static struct guest_refusal refusals[GUESTS];
static size_t refused;
static json_t *kept; /* answers, which own the proxies' strings */

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

/* "mine_2" from "some/where/Mine-2.so": a valid kernel name. */
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

/* ---- proxies --------------------------------------------------------------------------------- */

static bool is_group(const char *name)
{
    for (const struct catalogue_group *group = catalogue_groups; group->name; group++)
        if (strcmp(group->name, name) == 0)
            return true;
    return false;
}

/* Whether a kernel's name is valid and not taken. */
static bool name_is_right(const char *name, struct message why)
{
    if (!name || !scan_is_name(name, NAME_MOST))
        return refuse(
            why,
            "a kernel's name is lower case letters, digits and _, at most %d of them, not '%s'",
            NAME_MOST, name ? name : "");
    if (is_group(name))
        return refuse(why, "kernel %s has the name of a group", name);
    const struct attn_kernel *other = catalogue_named(name);
    const struct guest *guest = other ? catalogue_guest(other) : NULL;
    return !other || refuse(why, "there is a kernel %s already, %s%s", name, guest ? "of " : "",
                            guest ? guest->path : "in this program");
}

static bool parse_kernel(const json_t *object, struct attn_kernel *kernel, struct message why)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    const json_t *isa = json_object_get(object, "isa");
    char key[64];
    if (!name_is_right(name, why))
        return false;
    *kernel = (struct attn_kernel){.size = sizeof *kernel,
                                   .name = name,
                                   .summary = member_text(object, "summary"),
                                   .source = member_text(object, "source")};
    kernel->isa = attn_isa_preferred(); /* of a program that names none */
    const char *text = json_string_value(isa);
    if (isa && !(text && attn_isa_parse(text, &kernel->isa)))
        return refuse(why, "kernel %s: no instruction set '%s'", name, text ? text : "");
    if (!capabilities_parse(json_object_get(object, "caps"), &kernel->caps, MESSAGE(key)))
        return refuse(why, "kernel %s: its capabilities have a wrong %s", name, key);
    const json_t *start = json_object_get(object, "start_s");
    const double start_s = json_number_value(start);
    if (start && !(json_is_number(start) && start_s >= 0 && start_s <= START_S_MOST))
        return refuse(why, "kernel %s: its start_s is no number from 0 to %g", name, START_S_MOST);
    return true;
}

/* Whether no variant comes twice. */
static bool each_once(const struct attn_kernel *kernels, size_t count, struct message why)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (kernels[i].isa == kernels[k].isa && strcmp(kernels[i].name, kernels[k].name) == 0)
                return refuse(why, "it has two kernels %s/%s", kernels[i].name,
                              attn_isa_name(kernels[i].isa));
    return true;
}

/* Adds proxies to the catalogue from "kernels" of an answer to `describe`, which is kept:
 *
 *     [{"name":"mine", "isa":"avx512", "summary":TEXT, "source":TEXT, "caps":{...}}, ...]
 *
 * False fills why with what is wrong with one of them; then none is added. */
static bool add_kernels(const struct guest *guest, json_t *list, struct message why)
{
    const size_t count = json_array_size(list);
    struct attn_kernel *kernels = calloc(count + 1, sizeof *kernels);
    const struct attn_kernel **pointers = calloc(count + 1, sizeof *pointers);
    bool right = kernels && pointers && count && count <= KERNELS_MOST;
    if (!right)
        message_print(why, "it names %zu kernels; 1 to %d make sense", count, KERNELS_MOST);
    for (size_t i = 0; right && i < count; i++) {
        right = parse_kernel(json_array_get(list, i), &kernels[i], why);
        pointers[i] = &kernels[i];
    }
    if (right && each_once(kernels, count, why)) {
        kept = kept ? kept : json_array();
        if (json_array_append(kept, list) == 0) {
            catalogue_add(guest, pointers, count);
            return true;
        }
        message_print(why, "not enough memory to keep what it says");
    }
    free(kernels);
    free(pointers);
    return false;
}

double guests_start_s(const struct cell *cell)
{
    const json_t *list, *kernel;
    size_t i, k;
    if (!cell->guest || !cell->guest->program)
        return 0;
    double start_s = cell->guest->start_s;
    json_array_foreach (kept, i, list) {
        json_array_foreach (list, k, kernel) {
            if (strcmp(member_text(kernel, "name"), cell->kernel_name) == 0)
                start_s = fmax(start_s, json_number_value(json_object_get(kernel, "start_s")));
        }
    }
    return start_s;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Adds a file's kernels, or a refusal; as guests_load(). */
static int ask(struct guest *guest, double deadline_s, struct message message)
{
    char why[CELL_WHY];
    if (!guest_file_read(guest, MESSAGE(why))) {
        if (!*guest->digest && !guest->rivals) {
            message_print(message, "plug-in %s: %s", guest->path, why);
            return EXIT_ENVIRONMENT;
        }
        refuse_guest(guest, CELL_UNAVAILABLE, why);
        return EXIT_AS_ASKED;
    }
    if (guest->rivals)
        *guest->digest = 0;
    struct launch launch = launch_describe("", ATTN_ISA_BASELINE, guest, deadline_s);
    if (json_is_true(json_object_get(launch.answer, "program")) && !guest->program &&
        guest_file_program(guest, MESSAGE(launch.why))) {
        launch_free(&launch);
        launch = launch_describe("", ATTN_ISA_BASELINE, guest, deadline_s);
    }
    if (launch.interrupted) {
        launch_free(&launch);
        return EXIT_INTERRUPTED;
    }
    guest->start_s = launch.wall_s;
    if (launch.state != CELL_OK)
        refuse_guest(guest, launch.state, launch.why);
    else if (!guest->program && *guest->arguments)
        refuse_guest(guest, CELL_UNAVAILABLE, "a shared object, which takes no arguments");
    else if (!add_kernels(guest, json_object_get(launch.answer, "kernels"), MESSAGE(why)))
        refuse_guest(guest, CELL_UNAVAILABLE, why);
    launch_free(&launch);
    return EXIT_AS_ASKED;
}

/* The guest of a --plugin; the same one if it is given again. */
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

/* Whether a list for --kernel has the rivals' group, or an unknown name, which may be a rival's. */
static bool names_rivals(const char *list)
{
    struct selected selected[SELECT_MAX];
    size_t count;
    char message[512];
    return list && (piece_listed(list, "rivals") ||
                    !select_kernels(list, selected, &count, MESSAGE(message)));
}

int guests_load(const char *const *paths, size_t count, const char *kernels, double timeout_s,
                struct message message)
{
    const double deadline_s = timeout_s > 0 ? fmin(timeout_s, DEADLINE_S) : DEADLINE_S;
    const char *program = rivals_program();
    int code = EXIT_AS_ASKED;
    for (size_t i = 0; i < count && code == EXIT_AS_ASKED; i++) {
        struct guest *guest = guest_of(paths[i]);
        if (guest)
            code = ask(guest, deadline_s, message);
    }
    if (code == EXIT_AS_ASKED && program && names_rivals(kernels)) {
        struct guest *guest = guest_of(program);
        if (guest) {
            guest->rivals = true;
            code = ask(guest, deadline_s, message);
        }
    }
    catalogue_incomplete(refused);
    return code;
}
