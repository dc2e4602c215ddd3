/*
 * published: reads the file of worked examples from where the cases' tensors are.
 */
#include "published.h"

#include <stdio.h>

#include "problem/cases.h"

#define FILE_NAME "worked-examples.json"

bool published_ready(char *message, size_t message_size)
{
    char path[CASES_PATH];
    return cases_find_file(FILE_NAME, path, message, message_size);
}

json_t *published_load(const char *name, struct experiment_work *work)
{
    char path[CASES_PATH], message[256];
    json_error_t error = {.text = "not found"};
    json_t *file = cases_find_file(FILE_NAME, path, message, sizeof message)
                       ? json_load_file(path, 0, &error)
                       : NULL;
    json_t *example = json_incref(name ? json_object_get(file, name) : file);
    if (!file && work)
        experiment_fail(work, FILE_NAME ": %s", error.text);
    else if (!example && work)
        experiment_fail(work, FILE_NAME " has no %s", name);
    json_decref(file);
    return example;
}
