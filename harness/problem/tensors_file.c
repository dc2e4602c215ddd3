/*
 * tensors_file: sets of operands in a memory file.
 *
 * The header is at page 0; then come the sets, operand after operand, each with room for every shift.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "tensors_view.h"

struct file_set {
    uint64_t checksum[TENSORS_OPERANDS];
    size_t shift; /* of the operands now, bytes */
};

struct file_header {
    struct problem_case c;
    struct tensors_shape shape;
    struct attn_work work;
    size_t sets;
    struct file_set set[TENSORS_FILE_SETS];
};

/* Bytes of an operand with room for every shift. */
static size_t area_bytes(const struct tensors_view *view)
{
    return tensors_area(view, 0, TENSORS_SHIFT_RANGE);
}

static size_t set_bytes(const struct attn_problem *problem, const struct tensors_shape *shape)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(NULL, problem, shape, views);
    size_t bytes = 0;
    for (size_t n = 0; n < count; n++)
        if (__builtin_add_overflow(bytes, area_bytes(&views[n]), &bytes))
            return SIZE_MAX;
    return bytes;
}

size_t tensors_file_bytes(const struct attn_problem *problem, const struct tensors_shape *shape,
                          size_t sets)
{
    size_t bytes;
    if (__builtin_mul_overflow(set_bytes(problem, shape), sets, &bytes) ||
        __builtin_add_overflow(bytes, tensors_whole_pages(sizeof(struct file_header)), &bytes))
        return SIZE_MAX;
    return bytes;
}

/* Points the operands of a set into memory from `at` on. */
static void place_operands(struct tensor_set *set, const struct attn_problem *problem, char *at,
                           size_t shift)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, problem, &set->shape, views);
    for (size_t n = 0; n < count; n++) {
        tensors_point(&views[n], at + tensors_stagger(shift, n), 0);
        at += area_bytes(&views[n]);
    }
    tensors_complete(&set->tensors, problem, &set->shape);
}

/* Moves operands from one shift to another. */
static void move_operands(const struct file_header *header, char *at, size_t from, size_t to)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(NULL, &header->c.problem, &header->shape, views);
    for (size_t n = 0; n < count; n++) {
        memmove(at + tensors_stagger(to, n), at + tensors_stagger(from, n),
                tensors_extent(&views[n], 0));
        at += area_bytes(&views[n]);
    }
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Bytes of the file if it is long enough to be one of these; else 0. */
static size_t size_of(int fd)
{
    struct stat status;
    const bool any = fstat(fd, &status) == 0 && (size_t)status.st_size > sizeof(struct file_header);
    return any ? (size_t)status.st_size : 0;
}

static struct file_header *map_header(int fd, int access, struct message message)
{
    struct file_header *header = mmap(NULL, sizeof *header, access, MAP_SHARED, fd, 0);
    if (header != MAP_FAILED)
        return header;
    message_print(message, "cannot map the memory file: %s", strerror(errno));
    return NULL;
}

#define HUGE ((size_t)2 << 20) /* bytes of a huge page on x86-64, and usually on AArch64 */

/* Reserves an address at which a mapping of a file can have huge pages: equal to the offset modulo HUGE. */
static void *reserve_huge(size_t bytes, size_t offset)
{
    char *room = mmap(NULL, bytes + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    const size_t skipped = (offset - (uintptr_t)room) % HUGE; /* both are whole pages */
    if (skipped)
        munmap(room, skipped);
    munmap(room + skipped + bytes, HUGE - skipped);
    return room + skipped;
}

/* Maps the operands of set `index`, unchanged. */
static bool map_operands(struct tensor_set *set, const struct attn_problem *problem,
                         const struct tensors_shape *shape, int fd, size_t index, int access,
                         size_t shift, bool huge, struct message message)
{
    *set = (struct tensor_set){
        .tensors.size = sizeof set->tensors, .shape = *shape, .layout.shift = shift};
    const size_t bytes = set_bytes(problem, shape);
    const size_t offset = tensors_whole_pages(sizeof(struct file_header)) + index * bytes;
    void *wanted = huge ? reserve_huge(bytes, offset) : NULL;
    char *at =
        mmap(wanted, bytes, access, MAP_SHARED | (wanted ? MAP_FIXED : 0), fd, (off_t)offset);
    if (at == MAP_FAILED)
        return refuse(message, "cannot map %zu bytes of operands: %s", bytes, strerror(errno));
    set->mapping[0] = at;
    set->mapping_bytes[0] = bytes;
    place_operands(set, problem, at, shift);
    return true;
}

static bool fill_set(struct file_header *header, int fd, size_t index, struct message message)
{
    struct tensor_set set;
    if (!map_operands(&set, &header->c.problem, &header->shape, fd, index, PROT_READ | PROT_WRITE,
                      0, false, message))
        return false;
    const bool ok = tensors_fill(&set, &header->c, index, message);
    memcpy(header->set[index].checksum, set.checksum, sizeof set.checksum);
    if (ok && index == 0)
        header->work = attn_work(&header->c.problem, &set.tensors);
    tensors_free(&set);
    return ok;
}

bool tensors_fill_file(const struct problem_case *c, size_t sets, int fd, struct message message)
{
    struct tensors_shape shape;
    if (!tensors_shape_of(c, &shape, message))
        return false;
    const size_t bytes = tensors_file_bytes(&c->problem, &shape, sets);
    if (sets > TENSORS_FILE_SETS || bytes > PTRDIFF_MAX)
        return refuse(message, "%zu sets of operands are too many", sets);
    /* Reserves pages, so that lack of memory is an error now, not SIGBUS later. */
    const int error = posix_fallocate(fd, 0, (off_t)bytes);
    if (error)
        return refuse(message, "cannot allocate %zu bytes for operands: %s", bytes,
                      strerror(error));
    struct file_header *header = map_header(fd, PROT_READ | PROT_WRITE, message);
    if (!header)
        return false;
    header->c = *c;
    header->shape = shape;
    header->sets = sets;
    bool ok = true;
    for (size_t n = 0; ok && n < sets; n++)
        ok = fill_set(header, fd, n, message);
    munmap(header, sizeof *header);
    return ok;
}

bool tensors_file_work(int fd, struct attn_work *work)
{
    char message[128];
    struct file_header *header = size_of(fd) ? map_header(fd, PROT_READ, MESSAGE(message)) : NULL;
    if (!header)
        return false;
    *work = header->work;
    munmap(header, sizeof *header);
    return true;
}

/* ---- moving ---------------------------------------------------------------------------------- */

bool tensors_file_hold(struct tensors_file *file, int fd, struct message message)
{
    *file = (struct tensors_file){.bytes = size_of(fd)};
    file->mapping = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file->mapping != MAP_FAILED)
        return true;
    message_print(message, "cannot map the operands: %s", strerror(errno));
    file->mapping = NULL;
    return false;
}

void tensors_file_move(const struct tensors_file *file, size_t shift)
{
    struct file_header *header = file->mapping;
    for (size_t n = 0; header && n < header->sets; n++) {
        struct file_set *set = &header->set[n];
        if (set->shift == shift)
            continue;
        char *at = (char *)file->mapping + tensors_whole_pages(sizeof *header) +
                   n * set_bytes(&header->c.problem, &header->shape);
        move_operands(header, at, set->shift, shift);
        set->shift = shift;
    }
    /* Unmaps the pages, which the file keeps: workers can move pages to other NUMA nodes only if no other
     * process maps them. */
    if (header)
        madvise(file->mapping, file->bytes, MADV_DONTNEED);
}

void tensors_file_release(struct tensors_file *file)
{
    if (file->mapping)
        munmap(file->mapping, file->bytes);
    file->mapping = NULL;
}

/* ---- mapping --------------------------------------------------------------------------------- */

/* Maps the header if the file has the set of the problem; else NULL. */
static struct file_header *find_set(const struct attn_problem *problem, int fd, size_t index,
                                    struct message message)
{
    struct file_header *header = NULL;
    const size_t bytes = size_of(fd);
    if (bytes && !(header = map_header(fd, PROT_READ, message)))
        return NULL;
    if (bytes && bytes >= tensors_file_bytes(problem, &header->shape, index + 1))
        return header;
    message_print(message, "the memory file does not hold set %zu of this problem", index);
    if (header)
        munmap(header, sizeof *header);
    return NULL;
}

bool tensors_map(struct tensor_set *set, const struct attn_problem *problem, int fd, size_t index,
                 size_t shift, bool huge, struct message message)
{
    *set = (struct tensor_set){0};
    struct file_header *header = find_set(problem, fd, index, message);
    if (!header)
        return false;
    const struct file_set *state = &header->set[index];
    bool ok = state->shift == shift;
    if (ok)
        ok = map_operands(set, problem, &header->shape, fd, index, PROT_READ, shift, huge,
                          message) &&
             tensors_alloc_results(set, problem, message);
    else
        message_print(message, "the operands lie at a shift of %zu bytes, not %zu", state->shift,
                      shift);
    memcpy(set->checksum, state->checksum, sizeof set->checksum);
    set->work = header->work;
    munmap(header, sizeof *header);
    if (!ok)
        tensors_free(set);
    return ok;
}
