/* SQLite's writing in slices: what goes to the database file or its WAL is synced every so many
 * bytes, on the thread that writes it, instead of in one go at the end of a checkpoint. A disk
 * serves one after the other: a commit of the journal then waits for one slice at most, not for
 * the whole checkpoint. More syncs than SQLite asks for take nothing away from what it promises.
 *
 * It also gives each page of the database its checksum (page_sum.h). */
#pragma once

#define PACED_SLICE_BYTES (256 << 10)

/* sqlite3_file_control() with a struct damaged_pages (store_open.h): from then on each page that is
 * read from the database file is compared with its checksum, and counted there when it differs. It
 * is read all the same. The struct must live as long as the connection. */
#define PACED_CHECK_READS 0x70620001

/* The name of a VFS over SQLite's default one; registers it at the first call. Initialises SQLite:
 * what is to be configured before that comes before this. Any thread. */
const char *paced_vfs(void);
