/*
 * looks: sums of weights by place, compared with uniform weights.
 */
#include "looks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A head looks at a place if its share of the weight is at least twice that of uniform weights, and larger by
 * at least 0.1. */
#define TIMES_EVEN 2
#define MORE_THAN_EVEN 0.1

static const char *const names[LOOKS_PLACES] = {
    [LOOKS_PREVIOUS] = "previous", [LOOKS_ITSELF] = "itself", [LOOKS_NEXT] = "next",
    [LOOKS_EQUAL] = "equal",       [LOOKS_TOKEN] = "token",
};

const char *looks_place_name(enum looks_place place)
{
    return names[place];
}

static bool lies_there(enum looks_place place, size_t i, size_t j, size_t token,
                       const char *const *tokens)
{
    switch (place) {
    case LOOKS_PREVIOUS:
        return j + 1 == i;
    case LOOKS_ITSELF:
        return j == i;
    case LOOKS_NEXT:
        return j == i + 1;
    case LOOKS_EQUAL:
        return j != i && strcmp(tokens[i], tokens[j]) == 0;
    default:
        return j == token;
    }
}

/* The key with most weight over all rows. */
static size_t most_looked_at(const double *p, size_t n)
{
    size_t best = 0;
    double most = -1;
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += p[i * n + j];
        if (sum > most) {
            most = sum;
            best = j;
        }
    }
    return best;
}

double looks_in_use(const double *p, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double entropy = 0;
        for (size_t j = 0; j < n; j++)
            entropy -= p[i * n + j] > 0 ? p[i * n + j] * log(p[i * n + j]) : 0;
        sum += exp(entropy);
    }
    return sum / (double)n;
}

static void add_row(struct looks *looks, const double *row, size_t i, size_t n, size_t seen,
                    const char *const *tokens)
{
    size_t top = 0;
    for (size_t j = 0; j < seen; j++)
        top = row[j] > row[top] ? j : top;
    looks->seen += (double)seen / (double)n;
    for (int place = 0; place < LOOKS_PLACES; place++)
        for (size_t j = 0; j < seen; j++) {
            if (!lies_there((enum looks_place)place, i, j, looks->token, tokens))
                continue;
            looks->places[place].weight += row[j] / (double)n;
            looks->places[place].even += 1 / (double)seen / (double)n;
            looks->places[place].largest += j == top;
        }
}

/* ---- the sentence ---------------------------------------------------------------------------- */

static void name_place(const struct looks *looks, enum looks_place place, const char *const *tokens,
                       char *text, size_t size)
{
    static const char *const relative[] = {"the previous token", "the token itself",
                                           "the next token", "equal tokens elsewhere"};
    const char *token = tokens[looks->token];
    if (place != LOOKS_TOKEN)
        snprintf(text, size, "%s", relative[place]);
    else if (strcmp(token, "[SEP]") == 0)
        snprintf(text, size, "the separator [SEP]");
    else
        snprintf(text, size, "%s '%s'", looks->token ? "the token" : "the first token,", token);
}

static double excess(const struct looks *looks, int place)
{
    return looks->places[place].weight - looks->places[place].even;
}

static bool stands_out(const struct looks *looks, int place)
{
    return excess(looks, place) >= MORE_THAN_EVEN &&
           looks->places[place].weight >= TIMES_EVEN * looks->places[place].even;
}

/* The place, other than `other`, whose weight most exceeds that of uniform weights. */
static int best_place(const struct looks *looks, int other)
{
    int best = other == 0 ? 1 : 0;
    for (int place = 0; place < LOOKS_PLACES; place++)
        if (place != other && excess(looks, place) > excess(looks, best))
            best = place;
    return best;
}

static void say(struct looks *looks, size_t n, const char *const *tokens)
{
    const int best = best_place(looks, LOOKS_PLACES), then = best_place(looks, best);
    const double weight = looks->places[best].weight, even = looks->places[best].even;
    char place[96], other[96] = "", at[96];
    name_place(looks, (enum looks_place)best, tokens, place, sizeof place);
    if (stands_out(looks, then)) {
        name_place(looks, (enum looks_place)then, tokens, at, sizeof at);
        snprintf(other, sizeof other, "; then at %.48s with %.2f (%.2g)", at,
                 looks->places[then].weight, looks->places[then].even);
    }
    if (stands_out(looks, best))
        snprintf(looks->text, sizeof looks->text,
                 "looks at %s with %.2f of its weight (uniform: %.2g), the largest in %zu of %zu "
                 "rows%s; a row uses %.1f of %.3g keys",
                 place, weight, even, looks->places[best].largest, n, other, looks->in_use,
                 looks->seen);
    else
        snprintf(looks->text, sizeof looks->text,
                 "spreads its weight, a row uses %.1f of %.3g keys; most above uniform weights "
                 "goes to %s, %.2f (uniform: %.2g)",
                 looks->in_use, looks->seen, place, weight, even);
}

void looks_find(const double *p, size_t n, bool causal, const char *const *tokens,
                struct looks *looks)
{
    *looks = (struct looks){.token = most_looked_at(p, n), .in_use = looks_in_use(p, n)};
    for (size_t i = 0; i < n; i++)
        add_row(looks, p + i * n, i, n, causal ? i + 1 : n, tokens);
    say(looks, n, tokens);
}
