/*
 * piece: part of a text, such as an item of a list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Without a terminating 0. */
struct piece {
    const char *at;
    size_t length;
};

static inline struct piece piece_from(const char *at, const char *end)
{
    return (struct piece){at, (size_t)(end - at)};
}

static inline struct piece piece_of(const char *text)
{
    return (struct piece){text, strlen(text)};
}

bool piece_is(struct piece piece, const char *word);

/* Removes a word from the beginning; false: the piece begins otherwise. */
bool piece_skip(struct piece *piece, const char *word);

/* Splits *rest at the first character of `separators`: returns what is in front of it, or all where there is
 * none.  *rest becomes what follows; *more says whether there was a separator. */
struct piece piece_split(struct piece *rest, const char *separators, bool *more);

#define PIECE_BLANKS " \t"
/* The same at commas, without the blanks in front of the item. */
struct piece piece_item(struct piece *rest, bool *more);

/* Splits off the next item of a comma-separated list; false if none is left.  Behind a comma at the end there
 * is none. */
bool piece_next(struct piece *rest, struct piece *item);

/* Whether a comma-separated list has the word. */
bool piece_listed(const char *list, const char *word);

/* Blanks at both ends removed. */
struct piece piece_trim(struct piece piece);

/* Copies with a terminating 0; false where it does not fit. */
bool piece_copy(struct piece piece, char *text, size_t size);

/* Whether the piece is valid UTF-8 without control characters, as a line of JSON needs. */
bool piece_is_text(struct piece piece);
