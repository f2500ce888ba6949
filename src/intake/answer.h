/* The body of the 202 that answers a batch of events (contract, section 3). */
#pragma once

#include "base/buf.h"
#include "intake/intake.h"

struct intake_counts {
    size_t accepted, duplicates, rejected;
};

/* `verdicts`: items->count of them, the store's, in the order of the items. */
struct intake_counts intake_answer(struct buf *to, const struct intake_items *items,
                                   const struct verdict *verdicts);
