/* A file of tensors: refused with a printable message, or tensors that can be read to their last byte. */
#include "fuzz.h"
#include "problem/safetensors.h"

static void read_tensor(const struct safetensor *t)
{
    char text[SAFETENSORS_SHAPE_TEXT];
    volatile unsigned char last = 0;
    size_t elements = 1;
    for (size_t i = 0; i < t->rank; i++)
        elements *= t->shape[i];
    for (size_t i = 0; i < t->bytes; i++)
        last = ((const unsigned char *)t->data)[i];
    (void)last;
    if (safetensors_is_shape(t, t->shape, t->rank) && elements)
        safetensors_get(t, elements - 1);
    safetensors_print_shape(t, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char message[256] = "";
    struct safetensors *file = safetensors_open(fuzz_file(bytes, size), message, sizeof message);
    if (!file) {
        require_message(message, sizeof message);
        return 0;
    }
    for (size_t n = 0; n < safetensors_count(file); n++) {
        const struct safetensor *t = safetensors_at(file, n);
        read_tensor(t);
        require(safetensors_find(file, t->name) == t, "a tensor is found by its name");
    }
    safetensors_close(file);
    return 0;
}
