/*
 * guests: the kernels of --plugin, and those of the rivals' program, for a session.
 *
 * This process loads none of them. A worker loads the file and describes its kernels; the catalogue gets
 * a proxy of each, data without code, which can be listed, selected and planned.
 */
#ifndef HARNESS_SESSION_GUESTS_H
#define HARNESS_SESSION_GUESTS_H

#include "results/cell.h"

/* Why a file of --plugin, or the rivals' program, brings no kernels. */
struct guest_refusal {
    const struct guest *guest;
    char name[64]; /* to call it by in rows: the file's, without folder and suffix; or rivals */
    enum cell_state state;
    char why[640];
};

/* Adds the kernels of the files to the catalogue, and says on standard error which are refused.  The
 * rivals' program is asked if `kernels`, a list as of --kernel or NULL, has their group or an
 * unknown name.  False: interrupted. */
bool guests_load(const char *const *paths, size_t count, const char *kernels, double timeout_s);

/* About how many seconds the program of a cell takes to start and to load its library: the larger of what it
 * says itself and what describing it took; 0 without a program. */
double guests_start_s(const struct cell *cell);

/* Refused file number i; NULL beyond the last. */
const struct guest_refusal *guests_refused(size_t i);

/* The exit code of a session that would end with EXIT_AS_ASKED, given the refusals; `rivals`: including
 * that of the rivals' program, which the session has selected. */
int guests_code(bool rivals);

#endif
