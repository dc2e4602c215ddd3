/*
 * fuzz: what the fuzzers share.
 *
 * Each is a program of libFuzzer that gives any bytes to one reader.  A crash, a leak, undefined
 * behaviour, a wrong promise of the reader's header (require()) or an input that takes seconds ends it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message.h"

/* libFuzzer calls it with each input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* How many texts were accepted, as problems or as inputs. */
extern size_t fuzz_accepted;

/* Ends the fuzzer where a promise is broken. */
void require(bool kept, const char *promise);

/* Whether a message is one line of printable text. */
void require_message(const struct message message);

/* The bytes as a text of its own, free() it. */
char *fuzz_text(const uint8_t *bytes, size_t size);

/* The path of a file in memory with those bytes, until the next call. */
const char *fuzz_file(const uint8_t *bytes, size_t size);
