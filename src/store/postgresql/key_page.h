/* EventId keys, packed: a row of `key_page` has up to 66 neighbouring keys of an account, so that a
 * key takes 33 bytes of disk for ever, and not 108 as a row of `event_key` and an entry of its
 * index (docs/decisions/postgresql-store.md).
 *
 * A page's bytes: all keys, ascending, 16 bytes each; then for each key its content hash, 8 bytes,
 * and its event's number, 6 bytes; all big-endian. Stored: never change it. */
#pragma once

#include "base/buf.h"
#include "base/hash.h"

#define KEY_PAGE_MOST 66 /* four full rows fill a page of the server, 8,192 bytes */

struct packed_key {
    struct key128 key;
    uint64_t content;
    uint64_t event_no; /* below 2^KEY_EVENT_NO_BITS */
};
#define KEY_EVENT_NO_BITS 48

/* For qsort: ascending by key, as the server compares values of type uuid. */
int packed_key_compare(const void *a, const void *b);
/* Appends the bytes of 1 to KEY_PAGE_MOST keys, which are ascending. */
void key_page_add(struct buf *page, const struct packed_key *keys, size_t count);
/* Reads a page into `ret`, which has room for KEY_PAGE_MOST. Returns how many; 0: damaged. */
size_t key_page_read(struct str page, struct packed_key *ret);

/* SQL: where the event of an account's key is, as a table with the columns content and event_no,
 * and one row or none. The arguments are SQL, too. A key is in one of both tables; one statement
 * looks into both, so it cannot miss a key that is being packed. A page's keys are searched as
 * bytes: a match that does not begin where a key begins would be 16 equal bytes of hashes by
 * chance. What a full page has behind its keys is not searched. */
#define FIND_KEY(account_no, key)                                                                  \
    "(" ROW_OF_KEY(account_no, key) " UNION ALL SELECT " PACKED_CONTENT "," PACKED_EVENT_NO        \
                                    " FROM (SELECT l.keys,position(uuid_send(" key                 \
                                    ") IN substr(l.keys,1," KEYS_OF_FULL_PAGE                      \
                                    ")) AS at FROM (" PAGE_OF_KEY(account_no,                      \
                                                                  key) ") l) p WHERE p.at%16=1)"
#define KEYS_OF_FULL_PAGE "1056" /* bytes: KEY_PAGE_MOST keys */
#define ROW_OF_KEY(account_no, key)                                                                \
    "SELECT f.content,f.event_no FROM event_key f WHERE f.account_no=" account_no " AND "          \
    "f.key=" key
#define PAGE_OF_KEY(account_no, key)                                                               \
    "SELECT keys FROM key_page WHERE account_no=" account_no " AND first<=" key                    \
    " ORDER BY first DESC LIMIT 1"
/* What the page `p` has behind its keys, of the key at byte `p.at`. */
#define BEHIND_KEYS "octet_length(p.keys)/30*16+(p.at-1)/16*14"
#define PACKED_CONTENT "('x'||encode(substr(p.keys," BEHIND_KEYS "+1,8),'hex'))::bit(64)::bigint"
#define PACKED_EVENT_NO "('x'||encode(substr(p.keys," BEHIND_KEYS "+9,6),'hex'))::bit(48)::bigint"
