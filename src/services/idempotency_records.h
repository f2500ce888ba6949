/* Remembers what a request with an Idempotency-Key has made, for IDEMPOTENCY_KEPT_MS (a day), so
 * that its repetition makes nothing. A record is an object of the store. It is committed together
 * with the new object and its audit entry, so a crash leaves all of them or none. If two nodes get
 * the same request at once, the second commit is STORE_STALE, and that node then finds the record
 * of the first. Records are loaded at the start and belong to the control thread afterwards. */
#pragma once

#include "base/env.h"
#include "domain/clock.h"
#include "store/store.h"

#define IDEMPOTENCY_KEPT_MS DAY_MS
#define IDEMPOTENCY_HASH_CHARS 32
#define IDEMPOTENCY_ID_CHARS (2 * IDEMPOTENCY_HASH_CHARS)
#define IDEMPOTENCY_ID_MOST 64 /* of the created object */

/* The key of one request; hashes in hex, keyed by the store's secret. */
struct idempotency_key {
    char id[IDEMPOTENCY_ID_CHARS + 1];        /* caller; operation and key */
    char request[IDEMPOTENCY_HASH_CHARS + 1]; /* path, query and body */
    int64_t matched;                          /* a recovery's Matched */
    uint32_t account_no;                      /* the caller's; 0: the operator's */
    int64_t number; /* idempotency_number of the object; 0: its id is never reused */
    /* Results of idempotency_find. */
    enum object_kind kind;
    char made[IDEMPOTENCY_ID_MOST + 1]; /* "": nothing yet */
};

/* Distinguishes an object from a later one with the same id. */
static inline int64_t idempotency_number(uint32_t account_no, uint32_t no)
{
    return (int64_t)account_no << 32 | no;
}

struct idempotency;

struct idempotency *idempotency_new(struct env *env);
void idempotency_free(struct idempotency *all); /* NULL: nothing */
/* Takes over a stored record, or one that another node has changed; document absent: deleted.
 * False: it cannot be read. */
MUST_CHECK bool idempotency_refresh(struct idempotency *all, struct str id, struct str document);

/* Fills in the object that the key's first request created. False: that was a different request. */
MUST_CHECK bool idempotency_find(struct idempotency *all, struct idempotency_key *key);
/* The parts to store together with `made`: the record, and the deletion of expired and excess
 * records. Texts are in the arena. Returns their number. */
#define IDEMPOTENCY_PARTS 4
size_t idempotency_parts(struct idempotency *all, const struct idempotency_key *key,
                         const struct object_part *made, struct arena *arena,
                         struct object_part ret_parts[IDEMPOTENCY_PARTS]);
