/* The file: a checksum and the state as in memory. It is written to another name and renamed, so
 * that it is whole or missing; an unreadable one costs an additional pass. */
#include "store/sqlite/scrub_state.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x42524353u /* "SCRB" */

struct state_file {
    uint32_t magic, crc;
    struct scrub_state state;
};

static uint32_t crc_of(const struct scrub_state *state)
{
    return hash_crc32c(MAGIC, state, sizeof *state);
}

bool scrub_state_read(struct disk *disk, const char *path, uint64_t journal_id,
                      struct scrub_state *ret)
{
    struct state_file file;
    *ret = (struct scrub_state){0};
    int fd = disk->open(disk, path, false, false);
    if (fd < 0)
        return false;
    int result = disk_read_all(disk, fd, &file, sizeof file, 0);
    disk->close(disk, fd);
    if (result < 0 || file.magic != MAGIC || file.crc != crc_of(&file.state) ||
        file.state.journal_id != journal_id)
        return false;
    *ret = file.state;
    return true;
}

int scrub_state_write(struct disk *disk, const char *directory, const char *path,
                      const struct scrub_state *state)
{
    struct state_file file;
    memset(&file, 0, sizeof file);
    file.magic = MAGIC;
    file.state = *state;
    file.crc = crc_of(&file.state);
    char *fresh = xprintf("%s.new", path);
    int fd = disk->open(disk, fresh, true, false);
    int result = fd < 0 ? fd : disk_write_all(disk, fd, &file, sizeof file, 0);
    if (result == 0)
        result = disk->sync_file(disk, fd);
    if (fd >= 0)
        disk->close(disk, fd);
    if (result == 0)
        result = disk->rename(disk, fresh, path);
    if (result == 0)
        result = disk->sync_directory(disk, directory);
    free(fresh);
    return result;
}
