/* A file of tensors: refused with a printable message that begins with its path, or tensors that lie within
 * the file, apart from each other, and can be read to their last byte. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "problem/safetensors.h"

#define PREFIX ((size_t)8) /* bytes of the header's length */
#define DATA ((size_t)16)

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

static void read_file(const uint8_t *bytes, size_t size)
{
    char message[256] = "";
    const char *path = fuzz_file(bytes, size);
    struct safetensors *file = safetensors_open(path, MESSAGE(message));
    size_t tensors = 0;
    if (!file) {
        require_message(MESSAGE(message));
        require(strncmp(message, path, strlen(path)) == 0, "a message names the file");
        return;
    }
    for (size_t n = 0; n < safetensors_count(file); n++) {
        const struct safetensor *t = safetensors_at(file, n);
        read_tensor(t);
        require(safetensors_find(file, "", t->name) == t, "a tensor is found by its name");
        tensors += t->bytes;
    }
    require(tensors <= size - PREFIX - strlen("{}"), "tensors lie apart, within the file");
    safetensors_close(file);
}

/* Most damage ends at the length of the header, were it not right for what the header became: so the bytes
 * are a whole file, and then the header of one. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint8_t *file = calloc(1, PREFIX + size + DATA);
    require(file, "memory");
    read_file(bytes, size);
    for (size_t i = 0; i < PREFIX; i++)
        file[i] = (uint8_t)(size >> 8 * i);
    if (size)
        memcpy(file + PREFIX, bytes, size);
    read_file(file, PREFIX + size + DATA);
    free(file);
    return 0;
}
