/*
 * capsule: the commands `capsule` and `replay`: one row of a results file, to be repeated elsewhere.
 *
 * A capsule is a folder with capsule.json, which holds the row, its session's line and the digests of the
 * other files: the plug-in that the kernel came from, the tensors of the row's input, the hosts of ranks.
 *
 *     {"schema":"attnbench.capsule/1", "session":{...}, "row":{...},
 *      "plugin":{"name":"mine.so", "digest":"sha256:..."}|null,
 *      "tensors":{"name":"gpt.safetensors", "digest":"sha256:..."}|null,
 *      "hostfile":{"name":"hosts", "digest":"sha256:..."}|null}
 */
#ifndef HARNESS_COMMANDS_CAPSULE_H
#define HARNESS_COMMANDS_CAPSULE_H

#include <jansson.h>

#include "session/options.h"

#define CAPSULE_SCHEMA "attnbench.capsule/1"
#define CAPSULE_FILE "capsule.json"

int capsule_command(const struct options *options, int argc, const char *const *argv);
int replay_command(const struct options *options, int argc, const char *const *argv);

/* Cell number `number` of a results file, counted from 1, and the line of its session; new references,
 * NULL where there is none.  False fills message. */
bool capsule_find_row(const char *path, size_t number, json_t **session, json_t **row,
                      char *message, size_t message_size);

#endif
