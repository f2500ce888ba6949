/* A journal with damage: the input says which bytes of a small journal's files are overwritten.
 * Reading it then gives either an error with a sentence or an unbroken run of its first groups,
 * byte for byte; never anything else. A journal that opens takes new groups, and has them.
 *
 * Input, repeated: segment (1 byte), offset (2 bytes), length (1 byte), that many bytes. The
 * journal's id is always the same, so that whole forged frames can be found. */
#include "fuzz.h"

#include "../faults/sim_disk.h"
#include "store/journal/journal.h"
#include "store/journal/segments.h"

#include <stdlib.h>

#define SEGMENT_BYTES (16u << 10)
#define GROUPS 12
#define SEGMENTS 6 /* the last one is made ahead */

static const struct journal_position start;

static struct str group_of(struct buf *b, unsigned number)
{
    buf_clear(b);
    for (unsigned i = 0; i <= number * 977 % 6000; i++)
        buf_add_char(b, (char)('a' + number));
    return buf_str(b);
}

struct seen {
    unsigned count;
};

static bool see(void *context, struct str records, struct journal_position end)
{
    (void)end;
    struct seen *seen = context;
    struct buf want = {0};
    ASSERT(str_eq(records, group_of(&want, seen->count++)));
    buf_free(&want);
    return true;
}

static struct journal *open_journal(struct sim_disk *s, struct seen *seen, char **ret_why)
{
    struct journal_options o = {
        .disk = sim_disk_of(s),
        .directory = "/j",
        .segment_bytes = SEGMENT_BYTES,
        .id = 0x6a6a6a6a6a6a6a6a,
        .single_threaded = true,
    };
    *seen = (struct seen){0};
    return journal_open(&o, start, see, seen, ret_why);
}

static void commit(struct journal *j, unsigned number)
{
    struct buf group = {0};
    struct journal_position end;
    ASSERT(journal_commit(j, group_of(&group, number), &end));
    buf_free(&group);
}

static void damage(struct sim_disk *s, const uint8_t *data, size_t n)
{
    while (n >= 4) {
        uint64_t segment = 1 + data[0] % SEGMENTS;
        uint64_t offset = (data[1] | (unsigned)data[2] << 8) % SEGMENT_BYTES;
        size_t length = data[3] < n - 4 ? data[3] : n - 4;
        if (length > SEGMENT_BYTES - offset)
            length = (size_t)(SEGMENT_BYTES - offset);
        char *path = segment_path("/j", segment);
        if (length > 0 && sim_disk_file_bytes(s, path) >= 0)
            sim_disk_scribble(s, path, offset, data + 4, length);
        free(path);
        data += 4 + length;
        n -= 4 + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct sim_disk *s = sim_disk_new(1);
    struct seen seen;
    char *why = NULL;
    struct journal *j = open_journal(s, &seen, &why);
    ASSERT(j);
    for (unsigned i = 0; i < GROUPS; i++)
        commit(j, i);
    journal_close(j);
    damage(s, data, data_bytes);

    seen = (struct seen){0};
    bool good = journal_read(sim_disk_of(s), "/j", 0x6a6a6a6a6a6a6a6a, start, see, &seen, &why);
    ASSERT(good || (why && *why));
    ASSERT(seen.count <= GROUPS && (data_bytes >= 4 || seen.count == GROUPS));
    free(why);
    why = NULL;
    unsigned found = seen.count;
    j = open_journal(s, &seen, &why);
    ASSERT((j != NULL) == good && (!good || seen.count == found));
    free(why);
    if (j) {
        commit(j, found);
        journal_close(j);
        j = open_journal(s, &seen, &why);
        ASSERT(j && seen.count == found + 1);
        journal_close(j);
    }
    sim_disk_free(s);
    return 0;
}
