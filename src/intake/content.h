/* The content of a reported event as one keyed hash. If an EventId is reported again, the hashes
 * decide between duplicate and conflict: domain/acceptance.h compares them (contract, section 3).
 * Internal to intake/.
 *
 * The canonical form has an entry for each member present, ordered by field number
 * (event_fields.h): u8 number, u8 kind, value. Kinds: 'm' an amount and 't' a Timestamp, 8 bytes
 * little-endian (millionths, Unix milliseconds); 's' a string and 'n' any other number, u32 length
 * and text; 'T', 'F', 'N': true, false, null. The hash is keyed with the hash secret; 64 bits are
 * stored, because a hash is compared with only one other.
 *
 * Hashes are stored for ever: this form never changes. */
#pragma once

#include "base/buf.h"
#include "intake/item.h"

/* `candidate`: the item's, for values that are parsed already. `scratch` is reused from call to
 * call. */
uint64_t content_hash(const struct hash_secret *secret, struct buf *scratch,
                      const struct item *item, const struct candidate *candidate);
