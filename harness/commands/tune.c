/*
 * tune: from a session's rows to the text of kernels/wisdom.h, and back.
 *
 * A variant replaces the rules' choice if it is faster and the 95 % interval of the ratio of their times,
 * round by round, excludes 1.  Otherwise the rules' choice is written, so that no more distant point decides
 * there.
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/message.h"
#include "problem/catalogue.h"
#include "problem/select.h"
#include "results/report_rows.h"
#include "wisdom.h"

#define TEXT_MOST (ATTN_WISDOM_POINTS * 256)

bool tune_begin(struct options *options, const char **path, struct message message)
{
    /* Kernels that win somewhere; flash in narrow vectors does with few rows. */
    static const char competing[] = SELECT_BEST ",row_parallel,tiled,split_kv,flash";
    static const char with_narrow[] = SELECT_BEST ",row_parallel,tiled,split_kv,flash,flash/avx2";
    const bool narrow = catalogue_find("flash", ATTN_ISA_AVX2) && attn_isa_available(ATTN_ISA_AVX2);
    if (!options->output)
        return refuse(message, "tune needs --output");
    if (!options->force && access(options->output, F_OK) == 0)
        return refuse(message, "%s exists; --force replaces it", options->output);
    options->kernel = narrow ? with_narrow : competing;
    options->checked = CHECKED_CASE;
    *path = options->output;
    options->output = NULL;
    return true;
}

/* The fastest variant of each problem whose rules' choice was measured; *overruled: how often it was another
 * one. */
static size_t points_of(const struct cell *cells, size_t count, struct attn_wisdom_point *points,
                        size_t *overruled)
{
    size_t n = 0;
    *overruled = 0;
    for (size_t i = 0; i < count && n < ATTN_WISDOM_POINTS; i++) {
        const struct cell *chosen, *fastest;
        if (!cells[i].row || !report_row_is_chosen(cells[i].row))
            continue;
        const struct stats_ratio regret =
            report_row_regret(cells, count, &cells[i], &chosen, &fastest);
        if (!regret.interval || !report_row_is_ranked(cells, count, fastest))
            continue;
        const bool other = regret.lo > 1;
        *overruled += other;
        points[n++] = (struct attn_wisdom_point){&cells[i].c->problem, cells[i].threads,
                                                 other ? fastest->kernel : chosen->kernel};
    }
    return n;
}

static bool write_text(const char *path, const char *text, struct message message)
{
    FILE *file = fopen(path, "w");
    const bool written = file && fputs(text, file) >= 0;
    if (!file || fclose(file) != 0 || !written)
        return refuse(message, "%s: %s", path, strerror(errno));
    return true;
}

bool tune_write(const struct cell *cells, size_t count, const char *path, struct message message)
{
    struct attn_wisdom_point *points = alloc_zeroed(ATTN_WISDOM_POINTS, sizeof *points);
    char *text = alloc_zeroed(TEXT_MOST, 1);
    size_t overruled = 0, n = 0;
    bool written = points && text;
    if (!written)
        message_print(message, "out of memory");
    else
        n = points_of(cells, count, points, &overruled);
    if (written && !n)
        written = refuse(message,
                         "nothing to write: three launches of a choice and of another are needed");
    if (written) {
        attn_wisdom_print(points, n, text, TEXT_MOST);
        written = write_text(path, text, message);
    }
    if (written)
        progress_say("%s: %zu choice%s, %zu of them other than by the rules", path, n,
                     n == 1 ? "" : "s", overruled);
    free(points);
    free(text);
    return written;
}

bool tune_load(const char *path, struct message message)
{
    const char *why = NULL;
    char *text = alloc_zeroed(TEXT_MOST + 1, 1);
    FILE *file = text ? fopen(path, "r") : NULL;
    const size_t length = file ? fread(text, 1, TEXT_MOST, file) : 0;
    if (!file || ferror(file))
        why = text ? strerror(errno) : "out of memory";
    if (file)
        fclose(file);
    if (!why && strlen(text) != length)
        why = "it is no file of attnbench tune";
    const bool loaded = !why && attn_wisdom_load(text, &why);
    free(text);
    return loaded || refuse(message, "--wisdom %s: %s", path, why);
}
