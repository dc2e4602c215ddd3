/*
 * guest_file: the first bytes of a file, and its digest.
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

#include "base/refuse.h"
#include "base/shell_words.h"

#define HEAD 20 /* bytes of an ELF file in which every one says what it is for */

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

static unsigned machine_of(const unsigned char *head)
{
    const bool big = head[EI_DATA] == ELFDATA2MSB;
    return big ? head[18] * 256u + head[19] : head[19] * 256u + head[18];
}

/* This program's own ELF header, where the linker put it. */
extern const unsigned char own[HEAD] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* Whether an ELF file is of this program's architecture. */
static bool is_of_here(const unsigned char *head, char *why, size_t size)
{
    char there[48], here[48];
    if (machine_of(head) == machine_of(own) && head[EI_CLASS] == own[EI_CLASS] &&
        head[EI_DATA] == own[EI_DATA])
        return true;
    architecture(machine_of(head), head[EI_CLASS], there);
    architecture(machine_of(own), own[EI_CLASS], here);
    return refuse(why, size, "built for %s; this program is for %s", there, here);
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

bool guest_file_program(struct guest *guest, char *why, size_t why_size)
{
    guest->program = access(guest->path, X_OK) == 0;
    return guest->program || refuse(why, why_size, "a program, but not executable: chmod +x");
}

static bool read_open(int fd, struct guest *guest, char *why, size_t size)
{
    unsigned char head[HEAD] = {0};
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return refuse(why, size, "not a regular file");
    if (!digest_of(fd, guest->digest)) {
        snprintf(guest->digest, sizeof guest->digest, GUEST_UNREAD);
        return refuse(why, size, "cannot be read");
    }
    const ssize_t length = pread(fd, head, sizeof head, 0);
    if (length >= 2 && memcmp(head, "#!", 2) == 0)
        return guest_file_program(guest, why, size);
    if (length < HEAD || memcmp(head, ELFMAG, SELFMAG) != 0)
        return refuse(why, size,
                      "neither a shared object nor a program: it begins neither as "
                      "an ELF file does nor with #!");
    if (head[16] + head[17] == ET_REL)
        return refuse(why, size, "an object file, which must be linked: cc -shared");
    return is_of_here(head, why, size);
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

/* Absolute, as a kernel may go to another folder.  A name without a slash is a file in this folder, not one
 * to search for. */
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
        return refuse(why, why_size, "%s", errno == ENOENT ? "no such file" : strerror(errno));
    const bool right = read_open(fd, guest, why, why_size);
    close(fd);
    return right;
}
