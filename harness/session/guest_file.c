/*
 * guest_file: the first bytes of a file, and its digest.
 */
#include "guest_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shell_words.h"

/* ---- architecture: these fields are at the same offsets in 32-bit and 64-bit headers ---------- */

/* The header of this program, whose address the linker sets. */
extern const Elf32_Ehdr own __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* "x86-64, 64-bit" */
static const char *architecture(const Elf32_Ehdr *head, char text[48])
{
    static const char *const names[] = {
        [EM_X86_64] = "x86-64", [EM_AARCH64] = "AArch64",     [EM_386] = "i386",
        [EM_ARM] = "ARM",       [EM_RISCV] = "RISC-V",        [EM_PPC64] = "POWER",
        [EM_S390] = "s390",     [EM_LOONGARCH] = "LoongArch",
    };
    const bool big = head->e_ident[EI_DATA] == ELFDATA2MSB;
    const unsigned machine = big ? be16toh(head->e_machine) : le16toh(head->e_machine);
    const char *name = machine < sizeof names / sizeof *names ? names[machine] : NULL;
    char number[24];
    snprintf(number, sizeof number, "machine number %u", machine);
    snprintf(text, 48, "%s, %d-bit", name ? name : number,
             head->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
    return text;
}

/* ---- the file -------------------------------------------------------------------------------- */

bool guest_file_program(struct guest *guest, struct message why)
{
    guest->program = access(guest->path, X_OK) == 0;
    return guest->program || refuse(why, "a program, but not executable: chmod +x");
}

/* Reads kind and architecture, and the digest of the whole file. */
static bool read_open(int fd, struct guest *guest, struct message why)
{
    static const char method[] = "sha256:";
    Elf32_Ehdr head = {.e_type = ET_NONE};
    char there[48], here[48];
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return refuse(why, "not a regular file");
    if (!SHA256File(guest->path, guest->digest + sizeof method - 1))
        return refuse(why, "cannot be read");
    memcpy(guest->digest, method, sizeof method - 1);
    const ssize_t length = pread(fd, &head, sizeof head, 0);
    if (length >= 2 && memcmp(head.e_ident, "#!", 2) == 0)
        return guest_file_program(guest, why);
    if (length < (ssize_t)offsetof(Elf32_Ehdr, e_version) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(why, "neither a shared object nor a program: it begins neither as "
                           "an ELF file does nor with #!");
    if (head.e_machine != own.e_machine || head.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
        head.e_ident[EI_DATA] != own.e_ident[EI_DATA])
        return refuse(why, "built for %s; this program is for %s", architecture(&head, there),
                      architecture(&own, here));
    return head.e_type != ET_REL || refuse(why, "an object file, which must be linked: cc -shared");
}

/* Makes the path absolute, as a kernel may change the working directory.  A name without a slash is a file in
 * this folder; no other folder is searched. */
static void set_path(struct guest *guest, const char *path)
{
    char here[sizeof guest->path];
    const char *rest = path;
    while (strncmp(rest, "./", 2) == 0)
        rest += 2 + strspn(rest + 2, "/");
    if (*path == '/' || !getcwd(here, sizeof here) ||
        snprintf(guest->path, sizeof guest->path, "%s/%s", strcmp(here, "/") == 0 ? "" : here,
                 rest) >= (int)sizeof guest->path)
        snprintf(guest->path, sizeof guest->path, "%s", path); /* opening it will fail */
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

bool guest_file_read(struct guest *guest, struct message why)
{
    const int fd = open(guest->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *guest->digest = 0;
    if (fd < 0)
        return refuse(why, "%s", errno == ENOENT ? "no such file" : strerror(errno));
    const bool right = read_open(fd, guest, why);
    close(fd);
    return right;
}
