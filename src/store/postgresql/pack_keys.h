/* Moves keys of events from `event_key` into packed rows of `key_page`, account by account, in
 * slices that follow the order of the keys.
 *
 * A slice takes the next keys of the account and the pages that they fall between, and writes these
 * pages anew, in one transaction. So it can end after any slice, and a slice whose commit is in
 * doubt is simply repeated. Intake waits for none of it: a slice locks a row of `key_pack` that
 * nobody else uses, so that two nodes pack one account one after the other. */
#pragma once

#include "store/postgresql/connection.h"
#include "store/postgresql/key_page.h"

/* An account's keys are packed once they are this many more than at the last pass, and an eighth of
 * those that are packed: so a key is written some eight times again, 32 bytes each, and at most a
 * ninth of all keys takes more room than it must. */
#define PACK_LEAST 256
#define PACK_SHARE 8

/* Zero-initialised it begins with the first account. */
struct key_packer {
    uint32_t account_no; /* of the pass under way, or of the last one */
    uint32_t warned_of;  /* the caller's */
    bool under_way;
    struct key128 from;      /* the next slice's first key */
    int64_t last_event_no;   /* the account's when the pass began */
    struct packed_key *keys; /* of the slice */
    size_t count, capacity;
    struct buf page;
    struct pg_table table;
};

void key_packer_free(struct key_packer *p);
/* One slice; of an account with any new key at all if `any` is set. *ret_idle: there is no account
 * to pack. PG_REFUSED: pg->why is a sentence; what the account has stays as it is, and the next
 * call goes on with the next account. */
MUST_CHECK enum pg_fate pack_keys(struct pg *pg, struct key_packer *p, bool any, bool *ret_idle);
