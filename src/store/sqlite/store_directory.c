/* A running daemon needs no path: SQLite and the journal have their files open, and further names
 * are looked up in the held directory (struct disk_folder). So it could go on for ever in a
 * directory that nobody finds any more, and what it acknowledged would be lost with its end. That
 * is why it compares, and acknowledges nothing new while there is a difference.
 *
 * It does not end for it. If the files were deleted, its descriptors are their last copy. If the
 * directory was moved, a supervisor would start the daemon again at a path where nothing, or a
 * backup that is only half copied, is found: it would begin an empty store there and reject the
 * events of all accounts. And a directory that is moved back is in place again at once. Only when
 * another daemon already runs on what is now at the path, the first one ends, because both would
 * send the same callbacks. */
#include "store/sqlite/store_directory.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "store/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATABASE "postbackd.db"

static int open_directory(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Why the directory may not be used, and what to do. As a rule a new volume or folder belongs to
 * root. */
static char *refusal_sentence(const char *path)
{
    struct stat st;
    const char *why = strerror(EACCES);
    if (stat(path, &st) != 0 || st.st_uid != geteuid())
        return xprintf("%s cannot be opened: %s. The store must belong to this process's user: "
                       "`chown -R %u:%u %s`",
                       path, why, geteuid(), getegid(), path);
    if ((st.st_mode & S_IRWXU) != S_IRWXU)
        return xprintf("%s cannot be opened: %s. The folder's owner must be allowed to read, write "
                       "and enter it: `chmod u+rwx %s`",
                       path, why, path);
    return xprintf("%s cannot be opened: %s. This process's user must own it, and be allowed to "
                   "read and write it: `chown -R %u:%u %s; chmod -R u+rwX %s`",
                   path, why, geteuid(), getegid(), path, path);
}

bool store_directory_lock(struct disk *disk, const char *path, int *ret_fd, char **ret_why)
{
    int made = disk_ensure_directory(disk, path);
    if (made < 0) {
        *ret_why = xprintf("the store's directory %s cannot be made: %s", path, strerror(-made));
        return false;
    }
    int fd = open_directory(path);
    int code = fd < 0 || faccessat(fd, ".", W_OK, 0) != 0 ? -errno : disk_lock(fd, path);
    if (code == -EWOULDBLOCK)
        *ret_why = xprintf("another postbackd is running on %s (it holds a lock on it)", path);
    else if (code == -EACCES)
        *ret_why = refusal_sentence(path);
    else if (code != 0)
        *ret_why = xprintf("%s cannot be locked: %s", path, strerror(-code));
    if (code == 0)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    return code == 0;
}

bool store_directory_is_used(const char *path)
{
    int fd = open_directory(path);
    bool is_used = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is_used;
}

void store_directory_note_database(struct store_directory *d)
{
    struct stat st;
    if (fstatat(d->folder.fd, DATABASE, &st, 0) != 0)
        return; /* store_directory_look finds that it is missing */
    d->database_device = st.st_dev;
    d->database_inode = st.st_ino;
}

/* An error other than ENOENT says nothing about the file. */
static bool is_database_away(const struct store_directory *d)
{
    struct stat st;
    if (fstatat(d->folder.fd, DATABASE, &st, 0) != 0)
        return errno == ENOENT;
    return st.st_dev != d->database_device || st.st_ino != d->database_inode;
}

enum directory_state store_directory_look(const struct store_directory *d, struct journal *journal,
                                          char **ret_why)
{
    const char *path = d->folder.path;
    int code = disk_compare(d->folder.fd, path);
    struct stat st;
    if (code == -ESTALE && store_directory_is_used(path)) {
        *ret_why = xprintf("%s has been moved, and another postbackd runs on the directory that is "
                           "in its place: this one's files, with all that it has acknowledged, are "
                           "where it was moved to",
                           path);
        return DIRECTORY_TAKEN_OVER;
    }
    if (fstat(d->folder.fd, &st) == 0 && st.st_nlink == 0)
        *ret_why = xprintf("%s has been deleted: only this process still has its files", path);
    else if (code == -ENOENT || code == -ENOTDIR)
        *ret_why = xprintf("%s has been moved away", path);
    else if (code == -ESTALE)
        *ret_why = xprintf("%s has been moved, and another directory is in its place", path);
    else if (is_database_away(d))
        *ret_why = xprintf("%s/" DATABASE " has been moved, replaced or deleted: only this process "
                           "still has the store's",
                           path);
    else if (!journal_has_its_files(journal))
        *ret_why =
            xprintf("a file of the journal in %s/journal has been moved or deleted: only this "
                    "process still has it",
                    path);
    else
        return DIRECTORY_IN_PLACE;
    return DIRECTORY_AWAY;
}
