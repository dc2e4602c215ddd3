/*
 * shell_words: splits a text into words as a shell does, with quotes and backslashes and no other syntax.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SHELL_WORDS_TEXT 8192
#define SHELL_WORDS_MOST 64

struct shell_words {
    char text[SHELL_WORDS_TEXT];            /* the words, a 0 behind each */
    const char *word[SHELL_WORDS_MOST + 1]; /* NULL behind the last */
    size_t count;
};

/* False where a quote is not closed, or there are too many words. */
bool shell_words_split(const char *text, struct shell_words *words);

/* The text as one word in single quotes; a quote in it becomes '\''. */
void shell_words_quote(const char *text, char *out, size_t size);

/* Joins the words from `first` on with blanks, quoted where they need it; "" where there are none.  False
 * where the result does not fit. */
bool shell_words_join(const struct shell_words *words, size_t first, char *out, size_t size);
