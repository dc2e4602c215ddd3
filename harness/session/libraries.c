/*
 * libraries: has workers load them, one worker for each.
 */
#include "libraries.h"

#include <assert.h>
#include <stdio.h>

#include "launch.h"

#define MOST 16         /* libraries */
#define DEADLINE_S 20.0 /* to load a library */

static struct answer {
    const struct attn_library *library;
    bool missing;
    char why[CELL_WHY];
} answers[MOST];
static size_t count;

static const struct answer *answer_of(const struct attn_library *library)
{
    for (size_t i = 0; i < count; i++)
        if (answers[i].library == library)
            return &answers[i];
    return NULL;
}

/* Has a worker load the library of the kernel. */
static bool ask(const struct attn_kernel *kernel)
{
    struct launch launch = launch_describe(kernel->name, kernel->isa, NULL, DEADLINE_S);
    const bool answered = !launch.interrupted;
    assert(count < MOST);
    struct answer *answer = &answers[count++];
    answer->library = kernel->library;
    answer->missing = launch.state != CELL_OK;
    snprintf(answer->why, sizeof answer->why, "%s", launch.why);
    launch_free(&launch);
    return answered;
}

bool libraries_ask(void)
{
    const struct attn_kernel *kernel;
    for (size_t i = 0; (kernel = catalogue_at(i)); i++) {
        const struct attn_library *library = kernel->library;
        if (library && library->load && !answer_of(library) && !ask(kernel))
            return false;
    }
    return true;
}

const char *libraries_missing(const struct attn_kernel *kernel)
{
    const struct answer *answer = answer_of(kernel->library);
    return answer && answer->missing ? answer->why : NULL;
}
