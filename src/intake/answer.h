/* What becomes of a batch of events: the body of the 202 that answers it (contract, section 3), and
 * its rejected items one by one. */
#pragma once

#include "base/buf.h"
#include "intake/intake.h"
#include "json/writer.h"

struct intake_counts {
    size_t accepted, duplicates, rejected;
};

/* In all of these `verdicts` are items->count of them, the store's, in the order of the items. */
struct intake_counts intake_count(const struct intake_items *items, const struct verdict *verdicts);
struct intake_counts intake_answer(struct buf *to, const struct intake_items *items,
                                   const struct verdict *verdicts);

/* What intake and the store rejected, in the order of the request. A rejection and its faults are
 * only valid during the visit. */
typedef void (*intake_rejection_visitor)(void *context, const struct intake_rejection *rejection);
void intake_visit_rejections(const struct intake_items *items, const struct verdict *verdicts,
                             intake_rejection_visitor visit, void *context);
/* As it stands in the answer. */
void intake_print_rejection(struct json_writer *w, const struct intake_rejection *rejection);

/* Why a whole body was not taken, as a sentence: `result` and `why` of intake_read. */
void intake_print_unread(struct buf *to, enum intake_result result, struct str why);
