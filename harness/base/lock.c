/*
 * lock: an flock(2) whose file names its owner.
 */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *lock_path(void)
{
    struct stat directory;
    return stat("/run/lock", &directory) == 0 && S_ISDIR(directory.st_mode)
               ? "/run/lock/attnbench.lock"
               : "/tmp/attnbench.lock";
}

/* An existing file is opened without O_CREAT, which the kernel refuses for other users' files in
 * shared directories (fs.protected_regular); reading is enough to lock it. */
static int open_file(const char *path)
{
    static const int common = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    for (;;) {
        int fd = open(path, O_RDWR | common);
        if (fd < 0 && errno == EACCES)
            fd = open(path, O_RDONLY | common);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | common, 0666);
        if (fd >= 0)
            (void)!fchmod(fd,
                          0666); /* whatever the umask: others must be able to say who they are */
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
}

static void write_owner(int fd, const char *command)
{
    char text[512];
    const int n = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), command);
    const size_t length = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, length, 0);
}

static void read_owner(int fd, char *text, size_t size)
{
    char line[512];
    const ssize_t n = pread(fd, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    snprintf(text, size, "%s%s", *line ? "process " : "an unknown process", line);
}

enum lock_state lock_try(struct lock *lock, const char *path, const char *command, char *text,
                         size_t size)
{
    *text = 0;
    lock->fd = open_file(path);
    if (lock->fd < 0) {
        snprintf(text, size, "%s: %s", path, strerror(errno));
        return LOCK_UNUSABLE;
    }
    if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0) {
        write_owner(lock->fd, command);
        return LOCK_TAKEN;
    }
    read_owner(lock->fd, text, size);
    close(lock->fd);
    lock->fd = -1;
    return LOCK_HELD;
}

/* The file is not removed: otherwise a third session could lock a new file while a second one still waits for
 * the old one. */
void lock_release(struct lock *lock)
{
    if (lock->fd < 0)
        return;
    (void)!ftruncate(lock->fd, 0);
    close(lock->fd);
    lock->fd = -1;
}
