/* Look-ups in SQLite by id and by key, on a read connection of the one thread that owns it: the
 * writer's own, each reader's own, the backup's. */
#pragma once

#include "store/sqlite/filter.h"
#include "store/sqlite/row.h"
#include "store/sqlite/schema.h"

struct key_segment {
    uint32_t no;
    struct filter filter; /* no blocks: always ask SQLite */
    sqlite3_stmt *find;
};

struct key_found {
    uint64_t id;
    uint64_t content;
};

#define BODY_STATEMENTS 8

struct event_lookup {
    struct sql sql;
    sqlite3_stmt *row, *status, *reversal, *payments, *last_no;
    struct {
        uint32_t segment;
        sqlite3_stmt *find;
    } bodies[BODY_STATEMENTS]; /* of the segments asked last */
    size_t next_body;
    struct {
        sqlite3_stmt *s; /* stands on the block; NULL: on none */
        uint32_t segment;
        uint64_t block;
        struct str bytes;
    } body_block;                 /* of the body asked for last by lookup_next_body */
    struct key_segment *segments; /* by number, once they are loaded */
    size_t segment_count, segment_capacity;
    bool segments_loaded;
};

/* Opens a reading connection. */
MUST_CHECK bool lookup_open(struct event_lookup *l, const char *path, const char *vfs,
                            char **ret_why);
void lookup_close(struct event_lookup *l);

/* Adds all keys of a segment to a filter. */
void lookup_fill_filter(struct sql *q, uint32_t segment, struct filter *filter);
/* Loads the filters of all segments, rebuilding the open one's, if they are not: the first question
 * about a key does it too, but they may be many megabytes. */
void lookup_load_segments(struct event_lookup *l);
int64_t lookup_filter_bytes(const struct event_lookup *l);
/* The segment of that number, added when it is new. */
struct key_segment *lookup_segment(struct event_lookup *l, uint32_t no);
bool lookup_key(struct event_lookup *l, struct key128 key, struct key_found *ret);

/* Borrowed from the statement: valid until the next look-up of the same kind. */
bool lookup_row(struct event_lookup *l, uint64_t id, struct event_row *ret);
bool lookup_status(struct event_lookup *l, uint64_t id, struct callback_status *ret);
struct str lookup_body(struct event_lookup *l, uint64_t id, uint32_t segment, struct arena *arena);
/* The same for many, in one transaction: bodies of a block (body_block.h) that are asked for one
 * after the other are read at once. Borrowed until the next, or until lookup_end_bodies, which must
 * come before the transaction's end: until then a statement stands where the last one was. */
struct str lookup_next_body(struct event_lookup *l, uint64_t id, uint32_t segment);
void lookup_end_bodies(struct event_lookup *l);
uint64_t lookup_reversal(struct event_lookup *l, uint64_t original_id); /* 0: none */
/* Those of events before least_id: the memtables have the others. */
void lookup_payments(struct event_lookup *l, struct payment_search *search);
bool lookup_has_object(struct event_lookup *l, enum object_kind kind, struct str id);
uint64_t lookup_last_event_no(struct event_lookup *l, uint32_t account_no);
