/*
 * wisdom: the text of measured choices, and the nearest of them.
 *
 *     attnbench wisdom 1
 *     version 0.1.0
 *     host GenuineIntel-806f8 avx512_2fma avx512 avx2 baseline
 *     point f32 f32 2 128 128 8 16 512 split_kv avx512
 *     sum 3f0c9d1be2a47758
 *
 * A point has the types of Q and of K and V, threads, both dimensions, heads, rows and keys.  The sum is
 * FNV-1a (Fowler, Noll and Vo; RFC 9923) of all before it, against editing by hand, not against forging.
 */
#include "wisdom.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined __x86_64__
#include <cpuid.h>
#elif defined __aarch64__
#include <sys/auxv.h>
#endif

#define FIRST "attnbench wisdom "
#define HEAD FIRST "1\nversion " ATTN_VERSION "\n"
#define HOST_TEXT 512

struct point {
    enum attn_dtype dtype, kv_dtype;
    int threads;
    size_t qk_dim, v_dim;
    struct attn_shape shape;
    const struct attn_kernel *kernel;
};

static struct point loaded[ATTN_WISDOM_POINTS];
static size_t loaded_count;

/* ---- text ----------------------------------------------------------------------------------- */

struct text {
    char *at;
    size_t length, size;
};

static void add(struct text *text, const char *word)
{
    for (; *word; word++, text->length++)
        if (text->length < text->size)
            text->at[text->length] = *word;
}

static void add_number(struct text *text, uint64_t number, unsigned base)
{
    char digits[65], *at = digits + sizeof digits;
    *--at = 0;
    do {
        *--at = "0123456789abcdef"[number % base];
    } while (number /= base);
    add(text, at);
}

/* After a blank. */
static void add_count(struct text *text, double count)
{
    add(text, " ");
    add_number(text, (uint64_t)(count + 0.5), 10);
}

static uint64_t sum_of(const char *text, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* The processor's model, and what of it this process may use, in its order of preference. */
static void add_host(struct text *text)
{
    add(text, "host ");
#if defined __x86_64__
    unsigned signature = 0, features, c, d;
    char vendor[13] = "";
    __get_cpuid(0, &features, (unsigned *)(void *)vendor, (unsigned *)(void *)(vendor + 8),
                (unsigned *)(void *)(vendor + 4));
    __get_cpuid(1, &signature, &features, &c, &d);
    add(text, vendor);
    add(text, "-");
    add_number(text, signature, 16);
#elif defined __aarch64__
    add(text, "aarch64-");
    add_number(text, getauxval(AT_HWCAP), 16);
    add(text, "-");
    add_number(text, getauxval(AT_HWCAP2), 16);
#endif
    const enum attn_isa *order = attn_isa_preference();
    for (size_t i = 0; i < ATTN_ISA_COUNT; i++)
        if (attn_isa_available(order[i])) {
            add(text, " ");
            add(text, attn_isa_name(order[i]));
        }
    add(text, "\n");
}

static void add_point(struct text *text, const struct attn_wisdom_point *point)
{
    const struct attn_problem *p = point->problem;
    const struct attn_shape shape = attn_shape_of(p);
    const double counts[] = {point->threads, (double)p->qk_dim, (double)p->v_dim,
                             shape.heads,    shape.rows,        shape.keys};
    add(text, "point ");
    add(text, attn_dtype_name(p->dtype));
    add(text, " ");
    add(text, attn_dtype_name(p->kv_dtype));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        add_count(text, counts[i]);
    add(text, " ");
    add(text, point->kernel->name);
    add(text, " ");
    add(text, attn_isa_name(point->kernel->isa));
    add(text, "\n");
}

size_t attn_wisdom_print(const struct attn_wisdom_point *points, size_t count, char *buffer,
                         size_t size)
{
    struct text text = {buffer, 0, size};
    add(&text, HEAD);
    add_host(&text);
    for (size_t i = 0; i < count; i++)
        add_point(&text, &points[i]);
    const uint64_t sum = sum_of(buffer, text.length < size ? text.length : size);
    add(&text, "sum ");
    add_number(&text, sum, 16);
    add(&text, "\n");
    if (size)
        buffer[text.length < size ? text.length : size - 1] = 0;
    return text.length;
}

/* ---- loading -------------------------------------------------------------------------------- */

#define WORDS 11
#define WORD 64

/* The words of a line; false where it has more or fewer, or a longer one. */
static bool split(const char *line, char words[WORDS][WORD])
{
    for (size_t n = 0;; n++) {
        const size_t length = strcspn(line, " \n");
        if (n == WORDS || length == 0 || length >= WORD)
            return false;
        memcpy(words[n], line, length);
        words[n][length] = 0;
        line += length;
        if (*line != ' ')
            return n + 1 == WORDS;
        line++;
    }
}

/* One line of a text whose sum is right. */
static bool parse_point(const char *line, struct point *point)
{
    char words[WORDS][WORD];
    enum attn_isa isa;
    struct point p;
    size_t counts[6];
    if (!split(line, words) || strcmp(words[0], "point") != 0 ||
        !attn_dtype_parse(words[1], &p.dtype) || !attn_dtype_parse(words[2], &p.kv_dtype) ||
        !attn_isa_parse(words[WORDS - 1], &isa))
        return false;
    for (size_t i = 0; i < 6; i++)
        counts[i] = strtoull(words[3 + i], NULL, 10);
    p.threads = (int)counts[0];
    p.qk_dim = counts[1];
    p.v_dim = counts[2];
    p.shape = (struct attn_shape){(double)counts[3], (double)counts[4], (double)counts[5]};
    p.kernel = attn_find(words[WORDS - 2], isa);
    *point = p;
    return p.kernel;
}

/* Whether a text ends with the sum of all before it, and no more. */
static bool sum_is_right(const char *text)
{
    const char *last = NULL;
    char *end;
    for (const char *at = text; (at = strstr(at, "\nsum ")); at++)
        last = at + 1;
    return last && strtoull(last + 4, &end, 16) == sum_of(text, (size_t)(last - text)) &&
           strcmp(end, "\n") == 0;
}

static bool refused(const char **why, const char *what)
{
    *why = what;
    return false;
}

bool attn_wisdom_load(const char *text, const char **why)
{
    char buffer[HOST_TEXT];
    struct text host = {buffer, 0, sizeof buffer};
    size_t count = 0;
    loaded_count = 0;
    if (!text)
        return true;
    if (strncmp(text, FIRST, strlen(FIRST)) != 0)
        return refused(why, "it is no file of attnbench tune");
    if (!sum_is_right(text))
        return refused(why, "it was changed since attnbench tune wrote it");
    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        return refused(why, "another version of attnbench wrote it: tune again");
    add_host(&host);
    if (host.length > sizeof buffer || strncmp(text += strlen(HEAD), buffer, host.length) != 0)
        return refused(why, "it comes from another host: tune again here");
    for (const char *at = text + host.length; strncmp(at, "sum ", 4) != 0;
         at += strcspn(at, "\n") + 1)
        if (count == ATTN_WISDOM_POINTS || !parse_point(at, &loaded[count++]))
            return refused(why, "it has a kernel that this build lacks, or too many points");
    loaded_count = count;
    return true;
}

/* ---- choosing ------------------------------------------------------------------------------- */

struct attn_shape attn_shape_of(const struct attn_problem *p)
{
    const double heads = (double)p->batch * (double)p->kv_heads;
    const double rows = (double)(p->q_heads / p->kv_heads) * (double)p->q_len;
    return (struct attn_shape){heads, rows, attn_visible_pairs(p) / (heads * rows)};
}

static double distance(const struct attn_shape *a, const struct attn_shape *b)
{
    return fabs(log2(a->heads / b->heads)) + fabs(log2(a->rows / b->rows)) +
           fabs(log2(a->keys / b->keys));
}

const struct attn_kernel *attn_wisdom_choice(const struct attn_problem *problem, int threads)
{
    const struct point *nearest = NULL;
    double least = ATTN_WISDOM_NEAR;
    const char *why;
    if (!loaded_count)
        return NULL;
    const struct attn_shape shape = attn_shape_of(problem);
    for (size_t i = 0; i < loaded_count; i++) {
        const struct point *p = &loaded[i];
        const bool alike = p->dtype == problem->dtype && p->kv_dtype == problem->kv_dtype &&
                           p->threads == threads && p->qk_dim == problem->qk_dim &&
                           p->v_dim == problem->v_dim;
        const double away = alike ? distance(&shape, &p->shape) : INFINITY;
        if (away <= least) {
            least = away;
            nearest = p;
        }
    }
    const struct attn_kernel *kernel = nearest ? nearest->kernel : NULL;
    return kernel && attn_isa_available(kernel->isa) && attn_supports(kernel, problem, &why)
               ? kernel
               : NULL;
}
