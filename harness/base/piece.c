/*
 * piece: compares, splits and copies pieces of text.
 */
#include "piece.h"

#include "printable.h"

bool piece_is(struct piece piece, const char *word)
{
    return strlen(word) == piece.length && memcmp(piece.at, word, piece.length) == 0;
}

bool piece_skip(struct piece *piece, const char *word)
{
    const size_t length = strlen(word);
    const bool skipped = piece->length >= length && memcmp(piece->at, word, length) == 0;
    if (skipped)
        *piece = piece_from(piece->at + length, piece->at + piece->length);
    return skipped;
}

/* Not strchr, which finds the NUL byte in any set. */
static bool is_one_of(char c, const char *set)
{
    while (*set && *set != c)
        set++;
    return *set;
}

struct piece piece_split(struct piece *rest, const char *separators, bool *more)
{
    const char *end = rest->at + rest->length, *found = rest->at;
    while (found < end && !is_one_of(*found, separators))
        found++;
    *more = found < end;
    const struct piece first = piece_from(rest->at, found);
    *rest = piece_from(*more ? found + 1 : end, end);
    return first;
}

static struct piece trim_front(struct piece piece)
{
    for (; piece.length && is_one_of(*piece.at, PIECE_BLANKS); piece.length--)
        piece.at++;
    return piece;
}

struct piece piece_item(struct piece *rest, bool *more)
{
    return trim_front(piece_split(rest, ",", more));
}

bool piece_next(struct piece *rest, struct piece *item)
{
    const bool any = rest->length;
    *item = piece_split(rest, ",", &(bool){false});
    return any;
}

bool piece_listed(const char *list, const char *word)
{
    struct piece rest = piece_of(list), item;
    while (piece_next(&rest, &item))
        if (piece_is(item, word))
            return true;
    return false;
}

struct piece piece_trim(struct piece piece)
{
    while (piece.length && is_one_of(piece.at[piece.length - 1], PIECE_BLANKS))
        piece.length--;
    return trim_front(piece);
}

bool piece_copy(struct piece piece, char *text, size_t size)
{
    if (piece.length >= size)
        return false;
    memcpy(text, piece.at, piece.length);
    text[piece.length] = 0;
    return true;
}

bool piece_is_text(struct piece piece)
{
    while (piece.length) {
        unsigned code;
        const size_t n = printable_character(piece.at, piece.length, &code);
        if (!n || code < ' ' || code == 0x7f)
            return false;
        piece = piece_from(piece.at + n, piece.at + piece.length);
    }
    return true;
}
