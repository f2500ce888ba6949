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
#define IDEMPOTENCY_ID_MOST 64 /* of what is made */

/* The key of one request; hashes in hex, keyed by the store's secret. */
struct idempotency_key {
    char id[IDEMPOTENCY_ID_CHARS + 1];        /* who asks; operation and key */
    char request[IDEMPOTENCY_HASH_CHARS + 1]; /* path, query and body */
    int64_t matched;                          /* what a recovery is answered with besides its id */
    uint32_t account_no;                      /* who asks is of it; 0: the operator */
    int64_t number; /* idempotency_number of what is made; 0: its id is never given again */
    /* Results of idempotency_find. */
    enum object_kind kind;
    char made[IDEMPOTENCY_ID_MOST + 1]; /* "": nothing yet */
};

/* Tells an object from a later one that has been given its id. */
static inline int64_t idempotency_number(uint32_t account_no, uint32_t no)
{
    return (int64_t)account_no << 32 | no;
}

struct idempotency;

struct idempotency *idempotency_new(struct env *env);
void idempotency_free(struct idempotency *all); /* NULL: nothing */
/* A record of the store, as it was stored or as another node has left it; document absent: it is
 * gone. False: it cannot be read. */
MUST_CHECK bool idempotency_refresh(struct idempotency *all, struct str id, struct str document);

/* Fills in what the key's first request has made. False: that was another request. */
MUST_CHECK bool idempotency_find(struct idempotency *all, struct idempotency_key *key);
/* The parts to be kept with `made`: the record, and records that are over or too many. Texts are
 * the arena's. Returns how many. */
#define IDEMPOTENCY_PARTS 4
size_t idempotency_parts(struct idempotency *all, const struct idempotency_key *key,
                         const struct object_part *made, struct arena *arena,
                         struct object_part ret_parts[IDEMPOTENCY_PARTS]);
