/*
 * guests: the kernels of --plugin files and of the rivals' program, for a session.
 *
 * This process loads none of them.  A worker loads the file and describes its kernels; the catalogue gets a
 * proxy for each, data without code, which can be listed, selected and planned.
 */
#pragma once

#include "results/cell.h"

/* Why a --plugin file, or the rivals' program, provides no kernels. */
struct guest_refusal {
    const struct guest *guest;
    char name[64]; /* in rows: the file's name without folder and suffix; or "rivals" */
    enum cell_state state;
    char why[CELL_WHY];
};

/* Adds the files' kernels to the catalogue, and prints on standard error which are refused.  Starts the
 * rivals' program only if `kernels`, a list as for --kernel or NULL, has their group or an unknown name.
 * Returns EXIT_AS_ASKED, EXIT_INTERRUPTED, or EXIT_ENVIRONMENT and a message: a --plugin file cannot be read. */
int guests_load(const char *const *paths, size_t count, const char *kernels, double timeout_s,
                struct message message);

/* Estimated seconds for a cell's program to start and to load its library: the larger of what it declares and
 * what describing it took; 0 without a program. */
double guests_start_s(const struct cell *cell);

/* Refused file number i; NULL beyond the last. */
const struct guest_refusal *guests_refused(size_t i);

/* The exit code that the refusals give a session that would otherwise end with EXIT_AS_ASKED; `rivals`: count
 * the refusal of the rivals' program, too, as the session has selected it. */
int guests_code(bool rivals);
