/*
 * guest_file: the header of an ELF file, and the digest of any file.
 */
#include "guest_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shell_words.h"

/* What this program itself is. */
#define HERE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define HERE_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)
#if defined __x86_64__
#define HERE_MACHINE EM_X86_64
#elif defined __aarch64__
#define HERE_MACHINE EM_AARCH64
#elif defined __riscv
#define HERE_MACHINE EM_RISCV
#elif defined __powerpc64__
#define HERE_MACHINE EM_PPC64
#elif defined __s390x__
#define HERE_MACHINE EM_S390
#else
#error "add the e_machine of this architecture"
#endif

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Dyn elf_dynamic;
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Dyn elf_dynamic;
#endif

#define MOST_SEGMENTS 128
#define MOST_DYNAMIC 512

static bool refuse(char *why, size_t size, const char *text)
{
    snprintf(why, size, "%s", text);
    return false;
}

/* ---- architecture ---------------------------------------------------------------------------- */

/* "x86-64, 64-bit" */
static void architecture(unsigned machine, int class, char text[48])
{
    static const struct {
        unsigned machine;
        const char *name;
    } known[] = {
        {EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"},     {EM_386, "i386"},
        {EM_ARM, "ARM"},       {EM_RISCV, "RISC-V"},        {EM_PPC64, "POWER"},
        {EM_S390, "s390"},     {EM_LOONGARCH, "LoongArch"},
    };
    const int bits = class == ELFCLASS64 ? 64 : 32;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine) {
            snprintf(text, 48, "%s, %d-bit", known[i].name, bits);
            return;
        }
    snprintf(text, 48, "machine number %u, %d-bit", machine, bits);
}

/* Whether a header is of this program's architecture; e_type and e_machine stand at the same place in
 * every ELF file. */
static bool is_of_here(const unsigned char *head, char *why, size_t size)
{
    const bool big = head[EI_DATA] == ELFDATA2MSB;
    const unsigned machine = big ? head[18] * 256u + head[19] : head[19] * 256u + head[18];
    char there[48], here[48];
    if (machine == HERE_MACHINE && head[EI_CLASS] == HERE_CLASS && head[EI_DATA] == HERE_DATA)
        return true;
    architecture(machine, head[EI_CLASS], there);
    architecture(HERE_MACHINE, HERE_CLASS, here);
    snprintf(why, size, "built for %s; this program is for %s", there, here);
    return false;
}

/* ---- program or shared object ---------------------------------------------------------------- */

/* A program that is linked statically and may lie anywhere says so among its dynamic entries. */
static bool says_program(int fd, const elf_segment *dynamic)
{
    elf_dynamic entries[MOST_DYNAMIC];
    const size_t bytes =
        dynamic->p_filesz < sizeof entries ? (size_t)dynamic->p_filesz : sizeof entries;
    const ssize_t got = pread(fd, entries, bytes, (off_t)dynamic->p_offset);
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *entries; i++)
        if (entries[i].d_tag == DT_FLAGS_1)
            return entries[i].d_un.d_val & DF_1_PIE;
    return false;
}

/* From the segments of an ELF file of this architecture; false fills why. */
static bool read_elf(int fd, bool *program, char *why, size_t size)
{
    elf_header header;
    elf_segment segments[MOST_SEGMENTS];
    if (pread(fd, &header, sizeof header, 0) != sizeof header)
        return refuse(why, size, "an ELF file that is cut off");
    if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
        return refuse(why, size,
                      "an ELF file, but neither a shared object nor a program (an object "
                      "file must be linked: cc -shared)");
    const size_t bytes = header.e_phnum * sizeof *segments;
    if (header.e_phentsize != sizeof *segments || header.e_phnum > MOST_SEGMENTS ||
        pread(fd, segments, bytes, (off_t)header.e_phoff) != (ssize_t)bytes)
        return refuse(why, size, "an ELF file that is cut off");
    *program = header.e_type == ET_EXEC;
    for (size_t i = 0; i < header.e_phnum; i++)
        *program |= segments[i].p_type == PT_INTERP ||
                    (segments[i].p_type == PT_DYNAMIC && says_program(fd, &segments[i]));
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* "sha256:..." of the whole file; false where it cannot be read. */
static bool digest_of(int fd, char digest[GUEST_DIGEST])
{
    SHA2_CTX context;
    uint8_t bytes[65536];
    ssize_t n;
    off_t at = 0;
    SHA256Init(&context);
    for (; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n)
        SHA256Update(&context, bytes, (size_t)n);
    const int named = snprintf(digest, GUEST_DIGEST, "sha256:");
    SHA256End(&context, digest + named);
    return n == 0;
}

static bool read_open(int fd, struct guest *guest, char *why, size_t size)
{
    unsigned char head[64] = {0};
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return refuse(why, size, "not a regular file");
    if (!digest_of(fd, guest->digest)) {
        snprintf(guest->digest, sizeof guest->digest, GUEST_UNREAD);
        return refuse(why, size, "cannot be read");
    }
    const ssize_t length = pread(fd, head, sizeof head, 0);
    guest->program = length >= 2 && memcmp(head, "#!", 2) == 0;
    if (!guest->program) {
        if (length < 20 || memcmp(head, ELFMAG, SELFMAG) != 0)
            return refuse(why, size,
                          "neither a shared object nor a program: it begins neither as "
                          "an ELF file does nor with #!");
        if (!is_of_here(head, why, size) || !read_elf(fd, &guest->program, why, size))
            return false;
    }
    if (!guest->program && *guest->arguments)
        return refuse(why, size, "a shared object, which takes no arguments");
    if (guest->program && access(guest->path, X_OK) != 0)
        return refuse(why, size, "a program, but not executable: chmod +x");
    return true;
}

/* The path of a file, absolute, as a kernel may go to another folder; false where that is too long. */
static bool absolute(const char *path, char *whole, size_t size)
{
    if (*path == '/')
        return snprintf(whole, size, "%s", path) < (int)size;
    if (!getcwd(whole, size))
        return false;
    while (strncmp(path, "./", 2) == 0)
        path += 2 + strspn(path + 2, "/");
    const size_t n = strcmp(whole, "/") == 0 ? 0 : strlen(whole);
    return snprintf(whole + n, size - n, "/%s", path) < (int)(size - n);
}

/* Absolute, as a kernel may go to another folder.  A name without a slash is a file in this folder, not one to
 * search for. */
static void set_path(struct guest *guest, const char *path)
{
    if (!absolute(path, guest->path, sizeof guest->path))
        snprintf(guest->path, sizeof guest->path, "%s", path); /* nor will it open */
}

void guest_file_name(const char *text, struct guest *guest)
{
    struct shell_words words;
    set_path(guest, text);
    *guest->arguments = 0;
    if (access(guest->path, F_OK) == 0 || !shell_words_split(text, &words) || words.count < 2)
        return;
    if (shell_words_join(&words, 1, guest->arguments, sizeof guest->arguments))
        set_path(guest, words.word[0]);
    else
        *guest->arguments = 0;
}

bool guest_file_read(struct guest *guest, char *why, size_t why_size)
{
    const int fd = open(guest->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    snprintf(guest->digest, sizeof guest->digest, GUEST_UNREAD);
    if (fd < 0)
        return refuse(why, why_size, errno == ENOENT ? "no such file" : strerror(errno));
    const bool right = read_open(fd, guest, why, why_size);
    close(fd);
    return right;
}
