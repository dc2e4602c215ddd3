/*
 * worked_examples: public notebooks on self-attention, rebuilt and compared digit by digit.
 */
#include "experiment.h"
#include "results/report.h"
#include "worked_examples.h"

static const struct option parameters[] = {{0}};

/* Distributions of inputs in notebooks without a seed. */
static const char *const inputs[] = {"uniform", "normal", NULL};

/* ---- steps ----------------------------------------------------------------------------------- */

/* An example's kind, by its members; examples without a seed are in a list of their own. */
static const char *kind_of(const json_t *example)
{
    return json_object_get(example, "init")            ? "layer"
           : json_object_get(example, "scaled_scores") ? "causal"
                                                       : NULL;
}

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *seed = json_object_get(asked, "seed");
    const char *name;
    size_t i;
    json_t *example, *file = experiment_published(NULL, NULL);
    json_object_foreach (file, name, example)
        if (kind_of(example))
            json_array_append_new(steps, json_pack("{s:s, s:s, s:O}", "kind", kind_of(example),
                                                   "example", name, "seed", seed));
    json_array_foreach (json_object_get(file, "shapes"), i, example)
        experiment_steps(steps,
                         json_pack("{s:s, s:O, s:O}", "kind", "shapes", "example",
                                   json_object_get(example, "name"), "seed", seed),
                         NULL, "input", inputs);
    json_decref(file);
}

static bool compute_shape(const struct worked_rows *w, const json_t *step)
{
    json_t *list = experiment_published("shapes", w->work);
    const json_t *shape;
    size_t i;
    bool right = list;
    json_array_foreach (list, i, shape)
        if (experiment_is(shape, "name", w->example))
            right = worked_shape(*w, shape, step);
    json_decref(list);
    return right;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const struct worked_rows w = {member_text(s, "example"), rows, work};
    if (experiment_is(s, "kind", "shapes"))
        return compute_shape(&w, s);
    json_t *published = experiment_published(w.example, work);
    const bool layer = experiment_is(s, "kind", "layer");
    const bool right =
        published && (layer ? worked_layer(&w, published) : worked_causal(&w, published));
    json_decref(published);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool report(const json_t *rows)
{
    struct experiment_part row = {.rows = rows};
    size_t compared = 0, properties = 0;
    const size_t wrong = experiment_where(rows, "ok=false");
    while (experiment_part_next(&row)) {
        const bool property = json_object_get(row.params, "property");
        compared += !property && json_object_get(row.values, "ok");
        properties += property;
    }
    experiment_list(rows, "ok=true by=definition", "example quantity difference tolerance ok",
                    "what notebooks print, beside the definition in float64");
    experiment_list(rows, "ok=false", "example quantity property by difference tolerance ok",
                    "what differs");
    report_sentence("%s of %zu tables that the notebooks print and of %zu properties of examples "
                    "without a seed matches.",
                    wrong ? "Not every one" : "Every one", compared, properties);
    if (wrong)
        report_sentence("%zu DIFFER.", wrong);
    return !wrong;
}

const struct calculation calculation_worked_examples = {
    .parameters = parameters,
    .ready = experiment_published_ready,
    .plan = plan,
    .compute = compute,
    .report = report,
};
