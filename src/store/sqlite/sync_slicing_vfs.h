/* A VFS that syncs the database file and its WAL after every slice of bytes, on the thread that
 * writes, instead of once at the end of a checkpoint. A disk serves one request after the other, so
 * a commit of the journal then waits for one slice at most. SQLite's guarantees stay, because this
 * VFS only adds syncs.
 *
 * It also writes the checksum of each page of the database (page_sum.h). */
#pragma once

#define SYNC_SLICE_BYTES (256 << 10)

/* For sqlite3_file_control() with a struct damaged_pages (store_open.h): from then on each page
 * that is read from the database file is compared with its checksum. A mismatch is counted, and the
 * page is returned all the same. The struct must live as long as the connection. */
#define VFS_CHECK_READS 0x70620001

/* The name of the VFS; the first call registers it over SQLite's default one and initialises
 * SQLite: configure SQLite before. Any thread. */
const char *sync_slicing_vfs(void);
