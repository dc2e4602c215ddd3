/*
 * guest_file: the kind of a --plugin file, from its bytes; nothing of it is loaded.
 */
#ifndef HARNESS_SESSION_GUEST_FILE_H
#define HARNESS_SESSION_GUEST_FILE_H

#include "problem/catalogue.h"

/* The digest of a file that cannot be read. */
#define GUEST_UNREAD "unread"

/* Fills guest->path and guest->arguments from what --plugin was given: a path if there is such a file, else a
 * path and arguments, as a shell reads them. */
void guest_file_name(const char *text, struct guest *guest);

/* Fills guest->digest from guest->path, and guest->program where the file is a script.  False fills
 * why: the file is neither a shared object nor a program that can run here; the digest is set all the
 * same. */
bool guest_file_read(struct guest *guest, char *why, size_t why_size);

/* Sets guest->program of a file that the loader takes for none of its objects, but for a program.
 * False fills why: it cannot be run. */
bool guest_file_program(struct guest *guest, char *why, size_t why_size);

#endif
