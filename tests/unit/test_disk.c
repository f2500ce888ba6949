/* The real disk asks the kernel for what its slots promise. The linker puts the functions below
 * between it and the C library (--wrap): they count, and fail when told to. */
#include "check.h"

#include "store/disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_syncs, other_syncs, fails_with;
static bool directory_synced;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    file_syncs++;
    errno = fails_with;
    return fails_with ? -1 : __real_fdatasync(fd);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct stat st;
    directory_synced = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    other_syncs++;
    errno = fails_with;
    return fails_with ? -1 : __real_fsync(fd);
}

static char directory[64], path[96];

static int begin(void)
{
    struct disk *disk = disk_real();
    snprintf(directory, sizeof directory, "/tmp/postbackd-disk-XXXXXX");
    ASSERT(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/file", directory);
    file_syncs = other_syncs = fails_with = 0;
    int fd = disk->open(disk, path, true, false);
    ASSERT(fd >= 0);
    return fd;
}

static void end(int fd)
{
    struct disk *disk = disk_real();
    CHECK_EQ_INT(disk->close(disk, fd), 0);
    CHECK_EQ_INT(disk->unlink(disk, path), 0);
    rmdir(directory);
}

static void a_sync_reaches_the_kernel(void)
{
    struct disk *disk = disk_real();
    int fd = begin();
    CHECK_EQ_INT(disk_write_all(disk, fd, "abc", 3, 0), 0);
    CHECK_EQ_INT(disk->sync_file(disk, fd), 0);
    CHECK_EQ_INT(file_syncs, 1);
    directory_synced = false;
    CHECK_EQ_INT(disk->sync_directory(disk, directory), 0);
    CHECK_EQ_INT(other_syncs, 1);
    CHECK(directory_synced);
    end(fd);
}

static void a_sync_that_fails_is_told(void)
{
    struct disk *disk = disk_real();
    int fd = begin();
    fails_with = EIO;
    CHECK_EQ_INT(disk->sync_file(disk, fd), -EIO);
    CHECK_EQ_INT(disk->sync_directory(disk, directory), -EIO);
    fails_with = 0;
    end(fd);
}

static void a_new_directory_has_a_durable_name(void)
{
    struct disk *disk = disk_real();
    int fd = begin();
    char inner[96];
    snprintf(inner, sizeof inner, "%s/inner", directory);
    CHECK_EQ_INT(disk_ensure_directory(disk, inner), 0);
    CHECK_EQ_INT(other_syncs, 1);
    CHECK(directory_synced);
    rmdir(inner);
    end(fd);
}

/* --- transfers --------------------------------------------------------------------------------
 */

static int short_bytes; /* what a transfer moves at most */
static bool interrupt_next;

static ssize_t short_write(struct disk *disk, int fd, const void *from, size_t n, int64_t offset)
{
    (void)disk;
    interrupt_next = !interrupt_next;
    if (interrupt_next)
        return -EINTR;
    size_t most = n < (size_t)short_bytes ? n : (size_t)short_bytes;
    return disk_real()->write_at(disk_real(), fd, from, most, offset);
}

static ssize_t short_read(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    (void)disk;
    interrupt_next = !interrupt_next;
    if (interrupt_next)
        return -EINTR;
    size_t most = n < (size_t)short_bytes ? n : (size_t)short_bytes;
    return disk_real()->read_at(disk_real(), fd, to, most, offset);
}

static void short_transfers_are_gone_on_with(void)
{
    int fd = begin();
    struct disk disk = *disk_real();
    disk.write_at = short_write;
    disk.read_at = short_read;
    char back[12];
    for (short_bytes = 1; short_bytes < 13; short_bytes++) {
        CHECK_EQ_INT(disk_write_all(&disk, fd, "hello, world", 12, short_bytes), 0);
        CHECK_EQ_INT(disk_read_all(&disk, fd, back, 12, short_bytes), 0);
        CHECK_BYTES(back, 12, "hello, world", 12);
    }
    CHECK_EQ_INT(disk_read_all(&disk, fd, back, 12, 20), -ENODATA);
    end(fd);
}

int main(void)
{
    RUN(a_sync_reaches_the_kernel);
    RUN(a_sync_that_fails_is_told);
    RUN(a_new_directory_has_a_durable_name);
    RUN(short_transfers_are_gone_on_with);
    return check_done("disk");
}
