/*
 * published: reads the file of worked examples from where the cases' tensors are.
 */
#include "published.h"

#include <stdio.h>

#include "problem/cases.h"

json_t *published_load(const char *name, char *message, size_t message_size)
{
    static const char where[] = "worked-examples.json";
    char path[CASES_PATH];
    json_error_t error;
    if (!cases_find_file(where, path, message, message_size))
        return NULL;
    json_t *file = json_load_file(path, 0, &error);
    json_t *example = json_incref(name ? json_object_get(file, name) : file);
    if (!file)
        snprintf(message, message_size, "%s: %s", path, error.text);
    else if (!example)
        snprintf(message, message_size, "%s: has no %s", path, name);
    json_decref(file);
    return example;
}
