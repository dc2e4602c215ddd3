/*
 * clause_tree: the clause of an input, and the parents.
 *
 * A tree is the same for all sequences: children of a draft by level, breadth first (4x3x2), or each draft's
 * parent.  A sequence with fewer queries has its first drafts, which are a tree, too.
 */
#include "clause.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

#define MOST_DRAFTS 65536
#define STREAM_PARENTS UINT64_C(0x74726565) /* apart from other random numbers of an input */

/* A tree that is being parsed: how many drafts, and the parents of the first `room`. */
struct tree {
    size_t count, room;
    int32_t *parents;
};

static bool add(struct tree *tree, int64_t parent, const char **why)
{
    *why = "has more than 65536 drafts";
    if (tree->count == MOST_DRAFTS)
        return false;
    if (tree->count < tree->room)
        tree->parents[tree->count] = (int32_t)parent;
    tree->count++;
    return true;
}

/* Parses 4x3x2: 4 children of the cache, 3 of each of these, 2 of each of those. */
static bool read_levels(struct piece text, struct tree *tree, const char **why)
{
    uint64_t children;
    size_t first = 0, end = 0; /* of the level above */
    for (bool more = true; more; first = end, end = tree->count) {
        if (!scan_number(piece_split(&text, "x", &more), MOST_DRAFTS, &children, why))
            return false;
        *why = "has a level without drafts";
        if (!children)
            return false;
        for (size_t parent = first; parent < (end ? end : 1); parent++)
            for (uint64_t n = 0; n < children; n++)
                if (!add(tree, end ? (int64_t)parent : -1, why))
                    return false;
    }
    return true;
}

/* Parses -1,0,0,1: each draft's parent, -1 the cache. */
static bool read_parents(struct piece text, struct tree *tree, const char **why)
{
    for (bool more = true; more;) {
        const struct piece one = piece_split(&text, ",", &more);
        uint64_t parent = 0;
        const bool cache = piece_is(one, "-1");
        if (!cache && !scan_number(one, MOST_DRAFTS, &parent, why))
            return false;
        *why = "has a parent that is neither -1 nor a draft before";
        if ((!cache && parent >= tree->count) || !add(tree, cache ? -1 : (int64_t)parent, why))
            return false;
    }
    return true;
}

static bool read_text(struct piece text, struct tree *tree, const char **why)
{
    const bool parents = text.length && (*text.at == '-' || memchr(text.at, ',', text.length));
    return (parents ? read_parents : read_levels)(text, tree, why);
}

static size_t drafts_of(const char *text, int32_t *parents, size_t room)
{
    const char *why;
    struct tree tree = {.room = room, .parents = parents};
    return read_text(piece_of(text), &tree, &why) ? tree.count : 0;
}

void clause_tree_make(const struct input *input, size_t b, int32_t *parents, size_t n)
{
    const uint64_t key = random_key(random_key(input->seed, STREAM_PARENTS), b);
    if (*input->tree)
        drafts_of(input->tree, parents, n);
    for (size_t i = 0; !*input->tree && i < n; i++)
        parents[i] = (int32_t)random_below(key, i, i + 1) - 1;
}

/* ---- the clause ------------------------------------------------------------------------------ */

static bool read_tree(struct piece value, struct input *input, const char **why)
{
    struct tree tree = {0};
    if (!read_text(value, &tree, why))
        return false;
    *why = "has more than 175 bytes";
    return piece_copy(value, input->tree, sizeof input->tree);
}

static bool print_tree(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "%s", input->tree);
    return *input->tree;
}

static const char *tree_misfit(const struct input *input, const struct attn_problem *p)
{
    static _Thread_local char why[64];
    const size_t drafts = drafts_of(input->tree, NULL, 0);
    snprintf(why, sizeof why, "has %zu drafts, but sq is %zu", drafts, p->q_len);
    return drafts == p->q_len ? NULL : why;
}

const struct clause clause_tree = {"tree",
                                   "tree:4x3x2, children by level, or tree:-1,0,0,..., parents",
                                   read_tree, print_tree, tree_misfit};
