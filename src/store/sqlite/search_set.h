/* The callbacks of one account, app and type in one state: a set of event numbers, in rows of
 * SEARCH_BLOCK_EVENTS neighbouring numbers each (table `search`, without empty rows). An SQLite
 * index would need an entry for each callback and move it with each change of state, which would be
 * a fifth of the cost of an event (docs/decisions/hot-path.md).
 *
 *     few     their offsets in the block, ascending, 2 bytes each
 *     many    a bit for each event of the block
 *
 * Numbers are stored as in memory (little-endian machines only, as filters). */
#pragma once

#include "base/str.h"
#include "store/sqlite/ids.h"

#define SEARCH_BLOCK_BITS 12
#define SEARCH_BLOCK_EVENTS (1u << SEARCH_BLOCK_BITS)
#define SEARCH_BLOCK_WORDS (SEARCH_BLOCK_EVENTS / 64)

/* Account, app, type and state in one number, from the highest bits down; the widths are those of
 * ids.h and event.h. */
#define SEARCH_KEY_ACCOUNT_SHIFT 39
#define SEARCH_KEY_APP_SHIFT 7
#define SEARCH_KEY_TYPE_SHIFT 3

static inline uint64_t search_key(uint32_t account_no, uint32_t app_no, enum event_type type,
                                  enum callback_state state)
{
    _Static_assert(EVENT_TYPE_LAST < 1 << (SEARCH_KEY_APP_SHIFT - SEARCH_KEY_TYPE_SHIFT), "bits");
    _Static_assert(CALLBACK_SKIPPED < 1 << SEARCH_KEY_TYPE_SHIFT, "bits");
    return (uint64_t)account_no << SEARCH_KEY_ACCOUNT_SHIFT |
           (uint64_t)app_no << SEARCH_KEY_APP_SHIFT | (uint64_t)type << SEARCH_KEY_TYPE_SHIFT |
           (uint64_t)state;
}

struct search_block {
    uint64_t words[SEARCH_BLOCK_WORDS];
};

void search_block_set(struct search_block *b, unsigned offset, bool is_in);
void search_block_read(struct search_block *b, struct str row); /* an absent row: empty */
/* The row, in *b or in `few`. Empty: delete the row. */
struct str search_block_row(const struct search_block *b, uint16_t few[SEARCH_BLOCK_EVENTS / 16]);
/* The offsets in a row, ascending; returns their number. */
size_t search_block_offsets(struct str row, uint16_t ret[SEARCH_BLOCK_EVENTS]);
