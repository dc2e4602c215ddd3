/*
 * capabilities: a kernel's capabilities as JSON, with the words of a problem's text.
 *
 *     {"dtypes":["f32"], "kv_dtypes":[], "masks":["causal"], "options":["window"],
 *      "outputs":["o","lse"], "passes":["forward"], "parallel":true, "varies":false, "max_dim":0,
 *      "compute":"f32", "bound_factor":0, "bound_reason":null, "caveats":[]}
 */
#pragma once

#include <jansson.h>

#include "attention.h"
#include "base/message.h"

json_t *capabilities_json(const struct attn_caps *caps);

/* Missing keys mean none or false, passes: forward, compute: f32.  False fills message with the wrong key.
 * caps->bound_reason points into the object. */
bool capabilities_parse(const json_t *object, struct attn_caps *caps, struct message message);
