/* Reads a journal: every whole group from a position on, and where the next one goes. The visitor
 * decides what a record does: store/sqlite/recover.c. */
#pragma once

#include "store/journal/journal.h"

struct replay_end {
    bool empty; /* there is no segment */
    uint64_t segment, segment_bytes;
    uint64_t offset; /* the end of the last whole group */
    uint64_t next_sequence;
    struct journal_dropped dropped;
    /* The last whole group; NULL: none. Aligned; the caller frees it. The caller visits it, because
     * it may want to make it durable first; only if last_is_new. */
    char *last_frame;
    uint64_t last_offset;
    size_t last_frame_bytes;
    bool last_is_new;
};

/* Visits every whole group after `from` except the last. Writes nothing. A separate thread reads
 * ahead of the visits, unless single_threaded. *ret_why: a malloc'ed sentence. */
MUST_CHECK bool journal_replay(struct disk *disk, const char *directory, uint64_t id,
                               struct journal_position from, bool single_threaded,
                               journal_visitor visit, void *context, struct replay_end *ret_end,
                               char **ret_why);
MUST_CHECK bool replay_visit_last(const struct replay_end *end, const char *directory,
                                  journal_visitor visit, void *context, char **ret_why);
