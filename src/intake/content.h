/* The content of a reported event as one keyed hash: what makes a repeat a duplicate and not a
 * conflict (contract, section 3). Internal to intake/.
 *
 * The canonical form is one entry per member present, in the order of the fields' numbers
 * (event_fields.h): u8 number, u8 kind, value. Kinds: 'm' an amount and 't' a Timestamp, 8 bytes
 * little-endian (millionths, Unix milliseconds); 's' a string and 'n' any other number, u32
 * length and its text; 'T', 'F', 'N': true, false, null. Kept are 64 bits
 * of its hash with the store's secret: it is compared with one other only.
 * Hashes are kept for ever: this form never changes. */
#pragma once

#include "base/buf.h"
#include "intake/item.h"

/* `candidate`: the item's, for the values already read. `scratch` is reused from call to call. */
uint64_t content_hash(const struct hash_secret *secret, struct buf *scratch,
                      const struct item *item, const struct candidate *candidate);
