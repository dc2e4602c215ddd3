/*
 * batch_cases: completes a problem by the lengths of each batch.
 */
#include "batch_cases.h"

#include <string.h>

#include "model_size.h"

/* Adds the case of a problem and a batch. */
static bool add_batch(struct case_list *list, const struct problem_case *of, struct piece batch,
                      struct message message)
{
    const struct model_kind kind = {.role = MODEL_ENCODER, .problem = of->problem};
    struct model_size read;
    struct problem_case c;
    const char *why;
    if (!model_size_read(batch, &read, message))
        return false;
    if ((why = model_size_case(&read, &kind, &c)) || !cases_add_named(list, &c, &why))
        return refuse(message, "--batch %.*s: %s", (int)batch.length, batch.at, why);
    return true;
}

bool batch_cases_add(struct case_list *list, const char *problem, const char *batches,
                     struct message message)
{
    static const char *const keys[] = {"b", "sq", "skv", "ragged", "packed", "page"};
    struct case_list plain = {0};
    const char *has = strstr(problem, "input=") ? "an input" : NULL;
    bool added = cases_add_problem(&plain, problem, message);
    for (size_t i = 0; added && !has && i < sizeof keys / sizeof *keys; i++)
        has = parse_gives(problem, keys[i]) ? keys[i] : NULL;
    if (added && has)
        added = refuse(message,
                       "--batch says the lengths and the input of a --problem, which has %s", has);
    for (size_t i = 0; added && i < plain.count; i++) {
        struct piece rest = piece_of(batches);
        for (bool more = true; added && more;)
            added = add_batch(list, &plain.items[i], piece_split(&rest, "|", &more), message);
    }
    cases_free(&plain);
    return added;
}
