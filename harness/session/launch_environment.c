/*
 * launch_environment: how a worker's threads and libraries are set up.
 *
 * OMP_PROC_BIND=false: hwloc binds the threads, and the binding is read back; one mechanism only.
 * OMP_WAIT_POLICY=active: threads spin between calls.  A sample is calls back to back; a sleeping team would
 * add a futex wake-up (tens of microseconds on a virtual machine) to each, a cost of sleeping, not of the
 * kernel.  Not for checks, which have long serial phases beside which spinning wastes a core, nor for
 * programs, on whose cores the worker's threads would spin.
 * OPENBLAS_NUM_THREADS=1: a kernel that calls BLAS does so from its own threads.
 */
#include "launch_environment.h"

#include <stdio.h>
#include <stdlib.h>

#include "blas.h"
#include "problem/catalogue.h"
#include "results/setting.h"
#include "system/process.h"

/* Variables of the kernel's library; without one, those of the BLAS library that this program is linked with,
 * which any worker may call, as layers of experiments do. */
static const struct attn_variable *library_of(const struct protocol_request *r, size_t *count)
{
    const struct attn_kernel *kernel = *r->plugin ? NULL : catalogue_find(r->kernel, r->isa);
    const struct attn_library *library = kernel ? kernel->library : NULL;
    const char *guess[ATTN_LIBRARY_CHOICES] = {NULL};
    *count = 0;
    if (!library) {
        attn_blas_cores(&r->c.problem, r->isa, guess);
        return attn_blas_environment(guess[0], count);
    }
    if (library->choices)
        library->choices(&r->c.problem, r->isa, guess);
    return library->environment
               ? library->environment(r->isa, r->blas_core ? r->blas_core : guess[0], count)
               : NULL;
}

/* Adds the variables with which the library is fastest, except those that the user has set. */
static size_t library_variables(struct launch_environment *e, const struct protocol_request *r)
{
    size_t count, n = 0;
    const struct attn_variable *variables = library_of(r, &count);
    for (size_t i = 0; i < count && n < LAUNCH_LIBRARY; i++)
        if (!getenv(variables[i].name))
            snprintf(e->library[n++], sizeof e->library[0], "%s=%s", variables[i].name,
                     variables[i].value);
    return n;
}

/* Adds a variable unless the setting has it. */
static void add(const struct protocol_request *r, struct launch_environment *e, size_t *n,
                const char *variable)
{
    if (!setting_variable(r->setting.variables, variable))
        e->variables[(*n)++] = variable;
}

void launch_environment(const struct protocol_request *r, struct launch_environment *e)
{
    size_t n = 0;
    const bool computes = r->action == PROTOCOL_MEASURE && !r->program;
    snprintf(e->threads, sizeof e->threads, "OMP_NUM_THREADS=%d", r->team);
    add(r, e, &n, e->threads);
    add(r, e, &n, computes ? "OMP_WAIT_POLICY=active" : "OMP_WAIT_POLICY=passive");
    add(r, e, &n, "OPENBLAS_NUM_THREADS=1");
    for (size_t i = 0; i < PROCESS_OPENMP; i++)
        add(r, e, &n, process_openmp[i]);
    const size_t library = r->program ? 0 : library_variables(e, r);
    for (size_t i = 0; i < library; i++)
        add(r, e, &n, e->library[i]);
    for (size_t i = 0; r->setting.variables && r->setting.variables[i]; i++)
        e->variables[n++] = r->setting.variables[i];
    e->variables[n] = NULL;
}
