/*
 * model_config: reads the file and reports its first error.
 */
#include "models.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/named_pipe.h"
#include "config_fields.h"

#define CONFIG_BYTES ((size_t)1 << 20)

/* Names the model after the folder of a config.json, else after the file; characters not allowed in names
 * become _. */
static void name_model(const char *path, struct model *model)
{
    const char *slash = strrchr(path, '/'), *begin = slash ? slash + 1 : path;
    size_t length = strlen(begin), n = 0;
    if (strcmp(begin, "config.json") == 0 && slash && slash > path) {
        begin = slash;
        while (begin > path && begin[-1] != '/')
            begin--;
        length = (size_t)(slash - begin);
    } else if (length > 5 && strcmp(begin + length - 5, ".json") == 0) {
        length -= 5;
    }
    for (; n < length && n + 1 < 32; n++)
        model->name[n] =
            isalnum((unsigned char)begin[n]) || strchr("._-", begin[n]) ? begin[n] : '_';
    model->name[n] = 0;
}

static void read_whole(struct config *c)
{
    const json_t *text = json_object_get(c->outer, "text_config");
    c->own = json_is_object(text) ? text : c->outer;
    if (!json_is_object(c->outer))
        config_fail(c, "is no JSON object");
    else
        config_names(c);
    if (c->failed)
        return;
    if (config_is_true(c, "is_encoder_decoder"))
        config_pair(c);
    else
        config_layers(c);
    for (size_t i = 0; i < c->model->count && !c->failed; i++) {
        const char *why;
        if (c->model->kinds[i].role != MODEL_WITHOUT &&
            !attn_problem_valid(&c->model->kinds[i].problem, &why))
            config_fail(c, "num_attention_heads and num_key_value_heads: %s", why);
    }
    if (!c->failed)
        config_assumed(c);
}

bool model_config_read(const char *path, struct model *model, struct message message)
{
    struct config c = {path, .model = model, .message = message};
    const bool pipe = named_pipe_is(path);
    char *bytes = alloc_bytes(CONFIG_BYTES + 1);
    FILE *file = pipe ? NULL : fopen(path, "rb");
    const size_t n = file && bytes ? fread(bytes, 1, CONFIG_BYTES + 1, file) : 0;
    json_error_t error;
    json_t *whole = NULL;
    name_model(path, model);
    if (pipe)
        config_fail(&c, NAMED_PIPE_REFUSAL);
    else if (!file || !bytes || ferror(file))
        config_fail(&c, "%s", strerror(errno));
    else if (n > CONFIG_BYTES)
        config_fail(&c, "more than %zu bytes; this is no config.json", CONFIG_BYTES);
    else if (!(whole = json_loadb(bytes, n, 0, &error)))
        config_fail(&c, "line %d: %s", error.line, error.text);
    c.outer = whole;
    if (!c.failed)
        read_whole(&c);
    json_decref(whole);
    free(bytes);
    if (file)
        fclose(file);
    return !c.failed;
}
