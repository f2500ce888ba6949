/* Look-ups in SQLite by id and by key, on a read connection of the thread that owns it: the writer,
 * a reader, the backup. */
#pragma once

#include "store/damage_said.h"
#include "store/sqlite/body_block.h"
#include "store/sqlite/event_row.h"
#include "store/sqlite/key_sets.h"
#include "store/sqlite/schema.h"

struct key_found {
    uint64_t id;
    uint64_t content;
};

#define BODY_STATEMENTS 8

struct event_lookup {
    struct sql sql;
    sqlite3_stmt *row, *status, *reversal, *payments, *last_no, *has_bodies;
    struct {
        uint32_t segment;
        sqlite3_stmt *find;
    } bodies[BODY_STATEMENTS]; /* of the segments used last */
    size_t next_body;
    struct {
        uint32_t segment; /* 0: no block is read */
        uint64_t block;
        struct body_block bodies;
    } last_bodies;          /* for lookup_next_body */
    uint64_t damaged_block; /* of bodies, the last one that was found; 0: none */
    struct damage_said damage_said;
    struct key_sets keys;
};

/* Opens a reading connection. */
/* `path` is kept. */
MUST_CHECK bool lookup_open(struct event_lookup *l, const char *path, const char *vfs,
                            char **ret_why);
void lookup_close(struct event_lookup *l);

bool lookup_key(struct event_lookup *l, struct key128 key, struct key_found *ret);

/* The result borrows from the statement: valid until the next look-up of the same kind. */
bool lookup_row(struct event_lookup *l, uint64_t id, struct event_row *ret);
bool lookup_status(struct event_lookup *l, uint64_t id, struct callback_life *ret);
struct str lookup_body(struct event_lookup *l, uint64_t id, uint32_t segment, struct arena *arena);
/* Looks up many bodies in one transaction: consecutive bodies of a block (body_block.h) are read at
 * once. The result is valid until the next call. Call lookup_end_bodies before the transaction
 * ends, because the block may change then. */
struct str lookup_next_body(struct event_lookup *l, uint64_t id, uint32_t segment);
void lookup_end_bodies(struct event_lookup *l);
uint64_t lookup_reversal(struct event_lookup *l, uint64_t original_id); /* 0: none */
/* Only those of events below least_id: the memtables have the others. */
void lookup_payments(struct event_lookup *l, struct payment_search *search);
bool lookup_has_object(struct event_lookup *l, enum object_kind kind, struct str id);
uint64_t lookup_last_event_no(struct event_lookup *l, uint32_t account_no);
