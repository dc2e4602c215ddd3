/*
 * guest_file: what a --plugin file is, by its first bytes; the file is not loaded.
 */
#pragma once

#include "base/message.h"
#include "problem/catalogue.h"

/* Fills guest->path and guest->arguments from the text of --plugin: a path if such a file exists, else a path
 * and arguments in the shell's syntax. */
void guest_file_name(const char *text, struct guest *guest);

/* Fills guest->digest from guest->path, and sets guest->program if the file is a script.  False fills why:
 * the file cannot be read, and the digest is "", or is neither a shared object nor a program for this host. */
bool guest_file_read(struct guest *guest, struct message why);

/* Sets guest->program, for a file that dlopen() refuses as an executable.  False fills why: it cannot be
 * run. */
bool guest_file_program(struct guest *guest, struct message why);
