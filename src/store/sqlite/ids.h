/* The id of an event in the whole store: account_no in the upper 23 bits, event_no in the lower 40.
 * It is the INTEGER PRIMARY KEY of the event table, the cheapest kind of SQLite's B-trees: rows are
 * ordered by account, then by acceptance. */
#pragma once

#include "base/check.h"
#include "domain/event.h"

#define EVENT_NO_BITS 40
#define ACCOUNT_OF_ID_SQL "id>>" NUMBER_AS_TEXT(EVENT_NO_BITS) /* account_of_id */
#define EVENT_NO_LAST ((UINT64_C(1) << EVENT_NO_BITS) - 1)
#define ACCOUNT_NO_LAST ((UINT32_C(1) << 23) - 1)

static inline uint64_t event_id_of(uint32_t account_no, uint64_t event_no)
{
    ASSERT(account_no > 0 && account_no <= ACCOUNT_NO_LAST);
    ASSERT(event_no <= EVENT_NO_LAST);
    return ((uint64_t)account_no << EVENT_NO_BITS) | event_no;
}

static inline uint32_t account_of_id(uint64_t id)
{
    return (uint32_t)(id >> EVENT_NO_BITS);
}

static inline uint64_t event_no_of_id(uint64_t id)
{
    return id & EVENT_NO_LAST;
}

/* The key that panelists are counted, searched and capped by; with the account, because two
 * partners' panelists may have the same id. */
static inline struct key128 panelist_key(const struct hash_secret *secret, uint32_t account_no,
                                         struct str panelist_id)
{
    size_t n = panelist_id.n < LIMIT_PANELIST_ID_BYTES ? panelist_id.n : LIMIT_PANELIST_ID_BYTES;
    return account_text_key(secret, account_no, (struct str){panelist_id.p, n});
}
