/* The result of a batch of events: the body of its 202 (contract, section 3), and its rejected
 * items one by one. */
#pragma once

#include "base/buf.h"
#include "intake/intake.h"
#include "json/writer.h"

struct intake_counts {
    size_t accepted, duplicates, rejected;
};

/* In all of these `verdicts` are the store's, items->count of them, in the order of the items. */
struct intake_counts intake_count(const struct intake_items *items, const struct verdict *verdicts);
struct intake_counts intake_answer(struct buf *to, const struct intake_items *items,
                                   const struct verdict *verdicts);

/* Visits the rejections of intake and of the store, in the order of the request. A rejection and
 * its faults are valid only during the visit. */
typedef void (*intake_rejection_visitor)(void *context, const struct intake_rejection *rejection);
void intake_visit_rejections(const struct intake_items *items, const struct verdict *verdicts,
                             intake_rejection_visitor visit, void *context);
/* As in the answer. */
void intake_print_rejection(struct json_writer *w, const struct intake_rejection *rejection);

/* Why a whole body was refused, as a sentence: `result` and `why` are those of intake_read. */
void intake_print_unread(struct buf *to, enum intake_result result, struct str why);
