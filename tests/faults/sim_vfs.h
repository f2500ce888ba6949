/* An SQLite VFS over a simulated disk, so that SQLite's files see the same power cuts. Its name
 * is in sim_disk_of(s)->sqlite_vfs from then on. One process's connections only. */
#pragma once

#include "sim_disk.h"

void sim_vfs_add(struct sim_disk *s);
/* Before sim_disk_free, when every connection is closed. */
void sim_vfs_remove(struct sim_disk *s);
