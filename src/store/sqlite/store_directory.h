/* Which directory a store is in: the one that was locked at the start, wherever it is moved.
 *
 * The lock is on the directory itself, not on a file in it, which somebody could delete: then a
 * second daemon could lock another file of the same name. */
#pragma once

#include "store/journal/journal.h"

struct store_directory {
    struct disk_folder folder;
    dev_t database_device; /* of postbackd.db as it was opened */
    ino_t database_inode;
};

/* Locks the directory for this process until *ret_fd, a descriptor of it, is closed; makes it, with
 * a durable name, if it is missing. *ret_why: a malloc'ed sentence. */
MUST_CHECK bool store_directory_lock(struct disk *disk, const char *path, int *ret_fd,
                                     char **ret_why);
/* True if a process has locked it. */
bool store_directory_is_used(const char *path);

/* Called once SQLite has opened its files. */
void store_directory_note_database(struct store_directory *d);

enum directory_state {
    DIRECTORY_IN_PLACE,
    DIRECTORY_AWAY,       /* it, or a file in it, has been moved, replaced or deleted */
    DIRECTORY_TAKEN_OVER, /* besides, a daemon runs on the one that is at its path now */
};
/* *ret_why: a malloc'ed sentence, unless it is in place. */
MUST_CHECK enum directory_state store_directory_look(const struct store_directory *d,
                                                     struct journal *journal, char **ret_why);
