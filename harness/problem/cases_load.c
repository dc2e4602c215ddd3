/*
 * cases_load: reads suites, built in and from files, into lists of cases.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/named_pipe.h"
#include "base/message.h"

#include "sweep.h"

/* The files of suites/, as the build found them: suites.cmake generates SUITE(name, summary, byte...) for each. */
#define SUITE(name, summary, ...) static const char text_##name[] = {__VA_ARGS__, 0};
#include "suites_list.h"
#undef SUITE

#define SUITE(name, summary, ...) {#name, summary, text_##name},
const struct suite cases_builtin[] = {
#include "suites_list.h"
    {NULL, NULL, NULL},
};
#undef SUITE

#define SUITE_BYTES ((size_t)1 << 20) /* most bytes of a suite file, thousands of cases */

#define ALL "all" /* the name of all built-in suites */

/* A suite that is being read. */
struct reader {
    struct case_list *list;
    size_t first;       /* number of its first case in the list */
    const char *source; /* name of a built-in suite, or path of a file */
    size_t line;        /* counted from 1 */
    size_t cases;       /* found so far, including those that were in the list */
    struct message message;
};

#define fail(r, ...) refuse((r)->message, __VA_ARGS__)

/* ---- lines --------------------------------------------------------------------------------- */

/* Resolves an input's relative path that does not exist as written against the suite's folder. */
static void resolve_beside(const struct reader *r, struct input *input)
{
    char beside[sizeof input->path];
    const char *slash = strrchr(r->source, '/');
    if (!*input->path || input->path[0] == '/' || !slash || access(input->path, F_OK) == 0)
        return;
    const int n = snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - r->source), r->source,
                           input->path);
    const bool fits = !input->mask_file || (n < PARSE_MASK_PATH && !strpbrk(beside, ":+"));
    if (n > 0 && (size_t)n < sizeof beside && fits && access(beside, F_OK) == 0)
        memcpy(input->path, beside, (size_t)n + 1);
}

/* Why a name is invalid; NULL if it is valid. */
static const char *name_fault(struct piece name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (!name.length)
        return "has no name; expected name: problem";
    if (name.length >= sizeof((struct problem_case *)0)->name)
        return "is too long for a name (63 bytes)";
    for (size_t i = 0; i < name.length; i++)
        if (!memchr(allowed, name.at[i], sizeof allowed - 1))
            return "is not a name: letters, digits and . _ - only";
    return NULL;
}

/* Appends a case whose name is at column `at`. */
static bool append_case(struct reader *r, struct problem_case *c, const char *name,
                        const char *suffix, size_t at)
{
    char whole[2 * PARSE_TEXT], quoted[SCAN_QUOTED];
    const char *why;
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    const struct piece named = piece_of(whole);
    if ((why = name_fault(named)))
        return fail(r, "%s:%zu:%zu: %s %s", r->source, r->line, at, scan_quote(named, quoted), why);
    piece_copy(named, c->name, sizeof c->name);
    resolve_beside(r, &c->input);
    r->cases++;
    const size_t there = cases_find(r->list, c->name);
    if (there >= r->first && there < r->list->count)
        return fail(r, "%s:%zu:%zu: there is a case '%s' above", r->source, r->line, at, c->name);
    return cases_append(r->list, c, &why) ||
           fail(r, "%s:%zu:%zu: %s: %s", r->source, r->line, at, c->name, why);
}

/* Reads `name: problem [input=...]`; `line` is the whole line, for columns. */
static bool read_case(struct reader *r, struct piece line, struct piece text)
{
    struct sweep sweep;
    struct parse_error error;
    char name[PARSE_TEXT], suffix[PARSE_TEXT], quoted[SCAN_QUOTED];
    bool named;
    const struct piece given = piece_trim(piece_split(&text, ":", &named));
    const size_t at = (size_t)(given.at - line.at) + 1;
    const char *why = name_fault(given);

    if (!named)
        return fail(r, "%s:%zu:%zu: no colon; expected name: problem", r->source, r->line, at);
    if (why)
        return fail(r, "%s:%zu:%zu: %s %s", r->source, r->line, at, scan_quote(given, quoted), why);
    piece_copy(given, name, sizeof name);
    bool read = sweep_begin(&sweep, text, &error);
    for (size_t i = 0; read && i < sweep.count; i++) {
        struct problem_case c = {0};
        if (!(read = sweep_case(&sweep, i, &c, &error)))
            break;
        sweep_suffix(&sweep, i, suffix);
        if (!append_case(r, &c, name, suffix, at))
            return false;
    }
    return read || fail(r, "%s:%zu:%zu: %s", r->source, r->line,
                        (size_t)(text.at - line.at) + error.position + 1, error.message);
}

/* The line without its comment, which begins with a # at the start or after a blank. */
static struct piece without_comment(struct piece line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.at[i] == '#' && (!i || strchr(PIECE_BLANKS, line.at[i - 1])))
            line.length = i;
    return line;
}

static bool read_text(struct reader *r, struct piece text)
{
    bool more = true;
    r->first = r->list->count;
    for (r->line = 1; more; r->line++) {
        struct piece line = piece_split(&text, "\n", &more);
        if (line.length && line.at[line.length - 1] == '\r')
            line.length--;
        const char *nul = memchr(line.at, 0, line.length);
        if (nul)
            return fail(r, "%s:%zu:%td: a NUL byte; this is no text", r->source, r->line,
                        nul - line.at + 1);
        const struct piece content = piece_trim(without_comment(line));
        if (content.length && !read_case(r, line, content))
            return false;
    }
    return r->cases || fail(r, "%s: no cases", r->source);
}

/* ---- files and names ----------------------------------------------------------------------- */

static bool unknown_suite(struct reader *r)
{
    struct scan_choice choice = {.given = piece_of(r->source)};
    for (const struct suite *s = cases_builtin; s->name; s++)
        scan_offer(&choice, s->name);
    scan_offer(&choice, ALL);
    return scan_refuse(&choice, "no suite or file", "suites are", r->message);
}

static bool read_file(struct reader *r)
{
    const bool pipe = named_pipe_is(r->source);
    char *bytes = malloc(SUITE_BYTES + 1);
    FILE *file = pipe ? NULL : fopen(r->source, "rb");
    const size_t n = file && bytes ? fread(bytes, 1, SUITE_BYTES + 1, file) : 0;
    bool ok;
    if (pipe)
        ok = fail(r, "%s " NAMED_PIPE_REFUSAL, r->source);
    else if (!file && errno == ENOENT)
        ok = unknown_suite(r);
    else if (!file || !bytes || ferror(file))
        ok = fail(r, "%s: %s", r->source, strerror(errno));
    else if (n > SUITE_BYTES)
        ok = fail(r, "%s: more than %zu bytes; this is no suite", r->source, SUITE_BYTES);
    else
        ok = read_text(r, (struct piece){bytes, n});
    if (file)
        fclose(file);
    free(bytes);
    return ok;
}

/* Reads the suite with a built-in name or from a file's path. */
static bool read_suite(struct reader *r)
{
    const bool all = strcmp(r->source, ALL) == 0;
    bool found = false;
    for (const struct suite *s = cases_builtin; s->name; s++) {
        if (!all && strcmp(s->name, r->source) != 0)
            continue;
        struct reader one = *r;
        one.source = s->name;
        found = true;
        if (!read_text(&one, piece_of(s->text)))
            return false;
    }
    return found || read_file(r);
}

bool cases_load(struct case_list *list, const char *suites, struct message message)
{
    struct piece rest = piece_of(suites);
    for (bool more = true; more;) {
        const struct piece item = piece_split(&rest, ",", &more);
        char source[CASES_PATH];
        struct reader r = {
            .list = list,
            .source = source,
            .message = message,
        };
        if (!item.length)
            return fail(&r, "the list of suites '%s' has an empty item", suites);
        if (!piece_copy(item, source, sizeof source))
            return fail(&r, "a suite's path is too long");
        if (!read_suite(&r))
            return false;
    }
    return true;
}
