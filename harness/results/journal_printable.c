/*
 * journal_printable: the texts of a results file of somebody else, fit for a terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "journal.h"

/* What a terminal would obey is escaped. */
static void escape(json_t *text)
{
    const size_t length = json_string_length(text);
    const size_t size = PRINTABLE_GROWTH * length + 1;
    char *escaped = malloc(size);
    if (escaped) {
        printable(json_string_value(text), length, escaped, size);
        json_string_set(text, escaped);
    } else {
        json_string_set(text, "");
    }
    free(escaped);
}

void journal_make_printable(json_t *value)
{
    size_t i;
    const char *key;
    json_t *item;
    if (json_is_string(value))
        escape(value);
    json_array_foreach (value, i, item)
        journal_make_printable(item);
    json_object_foreach (value, key, item) {
        journal_make_printable(item);
    }
}
