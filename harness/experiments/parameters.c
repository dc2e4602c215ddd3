/*
 * parameters: from text to JSON, and back to a line of help.
 */
#include "parameters.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 512 /* bytes of a list */
#define MOST_VALUES 64

/* One item as a number of the parameter's kind; false where it is none. */
static bool number(const struct parameter *parameter, const char *text, double *x)
{
    char *end;
    *x = strtod(text, &end);
    const bool whole = parameter->kind == PARAMETER_NUMBERS || *x == floor(*x);
    return end != text && !*end && *x >= parameter->lo && *x <= parameter->hi && whole;
}

static bool append(const struct parameter *parameter, json_t *list, double x)
{
    const size_t n = json_array_size(list);
    if (n == MOST_VALUES || (n && x <= json_number_value(json_array_get(list, n - 1))))
        return false;
    json_array_append_new(list, parameter->kind == PARAMETER_NUMBERS ? json_real(x)
                                                                     : json_integer((json_int_t)x));
    return true;
}

/* A, or A..B. */
static bool append_range(const struct parameter *parameter, json_t *list, char *item)
{
    char *dots = strstr(item, "..");
    double from, to;
    if (dots)
        *dots = 0;
    if (!number(parameter, item, &from) || (dots && from <= 0))
        return false;
    to = from;
    if (dots && (!number(parameter, dots + 2, &to) || to < from))
        return false;
    for (double x = from; x <= to; x *= 2) {
        if (!append(parameter, list, x))
            return false;
        if (!dots)
            break;
    }
    return true;
}

static bool is_word(const struct parameter *parameter, const char *text)
{
    const char *const *word = parameter->words;
    while (*word && strcmp(*word, text) != 0)
        word++;
    return *word;
}

static bool append_word(const struct parameter *parameter, json_t *list, const char *item)
{
    size_t i;
    json_t *before;
    json_array_foreach (list, i, before) {
        if (strcmp(json_string_value(before), item) == 0)
            return false;
    }
    return is_word(parameter, item) && json_array_append_new(list, json_string(item)) == 0;
}

/* What the parameter takes, for a message. */
static void say(const struct parameter *parameter, const char *text, char *message, size_t size)
{
    static const char *const takes[] = {
        [PARAMETER_COUNT] = "a whole number",
        [PARAMETER_COUNTS] =
            "whole numbers, ascending, comma separated (A..B doubles from A to B),",
        [PARAMETER_NUMBERS] = "numbers, ascending, comma separated (A..B doubles from A to B),",
        [PARAMETER_WORDS] = "a comma list, each once, of",
        [PARAMETER_WORD] = "one of",
        [PARAMETER_TEXT] = "a text",
        [PARAMETER_FILE] = "a file",
        [PARAMETER_FLAG] = "no value",
    };
    size_t n =
        (size_t)snprintf(message, size, "--%s takes %s", parameter->name, takes[parameter->kind]);
    if (parameter->kind == PARAMETER_TEXT || parameter->kind == PARAMETER_FILE)
        n += (size_t)snprintf(message + n, size - n, " of UTF-8, shorter than %d bytes", TEXT);
    else if (!parameter->words)
        n +=
            (size_t)snprintf(message + n, size - n, " from %g to %g", parameter->lo, parameter->hi);
    else
        for (const char *const *word = parameter->words; *word && n < size; word++)
            n += (size_t)snprintf(message + n, size - n, "%s %s",
                                  word == parameter->words ? "" : ",", *word);
    if (n < size)
        snprintf(message + n, size - n, ": '%.60s%s'", text, strlen(text) > 60 ? ".." : "");
}

json_t *parameter_parse(const struct parameter *parameter, const char *text, char *message,
                        size_t message_size)
{
    char copy[TEXT];
    double x;
    bool right = snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy;
    json_t *value = NULL;
    if (parameter->kind == PARAMETER_COUNT) {
        right = right && number(parameter, copy, &x);
        value = right ? json_integer((json_int_t)x) : NULL;
    } else if (parameter->kind == PARAMETER_FLAG) {
        value = json_true();
    } else if (parameter->kind == PARAMETER_TEXT || parameter->kind == PARAMETER_WORD ||
               parameter->kind == PARAMETER_FILE) {
        value = json_string(copy); /* NULL where it is not UTF-8 */
        right = right && value && (!parameter->words || is_word(parameter, copy));
    } else {
        value = json_array();
        for (char *at = copy, *next; right && at; at = next) {
            if ((next = strchr(at, ',')))
                *next++ = 0;
            right = parameter->kind == PARAMETER_WORDS ? append_word(parameter, value, at)
                                                       : append_range(parameter, value, at);
        }
    }
    if (right)
        return value;
    say(parameter, text, message, message_size);
    json_decref(value);
    return NULL;
}

json_t *parameters_standard(const struct parameter *parameters, bool quick)
{
    char message[256];
    json_t *all = json_object();
    for (const struct parameter *p = parameters; p->name; p++) {
        json_t *value =
            parameter_parse(p, quick && p->quick ? p->quick : p->standard, message, sizeof message);
        assert(value && "a standard value is one");
        json_object_set_new(all, p->name, value);
    }
    return all;
}

const struct parameter *parameters_find(const struct parameter *parameters, const char *name,
                                        size_t length)
{
    for (const struct parameter *p = parameters; p->name; p++)
        if (strlen(p->name) == length && strncmp(p->name, name, length) == 0)
            return p;
    return NULL;
}

void parameters_print(FILE *out, const struct parameter *parameters)
{
    for (const struct parameter *p = parameters; p->name; p++) {
        char left[40];
        snprintf(left, sizeof left, "--%s %s", p->name, p->form);
        fprintf(out, "  %-19s %s", left, p->help);
        if (p->standard)
            fprintf(out, " (default: %s%s%s)", p->standard, p->quick ? "; --quick: " : "",
                    p->quick ? p->quick : "");
        fprintf(out, "\n");
    }
}
