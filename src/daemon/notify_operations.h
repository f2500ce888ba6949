/* Turns what delivery, certificates and the books report into events of operations/, which writes
 * to partners and to the operator. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"

/* On a loop; does not block. */
void notify_lane(struct operations *operations, const struct lane_notice *notice);
void notify_certificate(struct operations *operations, const struct app *app, enum lane_kind kind,
                        int64_t expires_ms, bool soon);
/* For the operator; node NULL: the only process. Any thread. */
void notify_listener(struct operations *operations, const char *node, int64_t expires_ms,
                     bool soon);
/* For the operator; `example` names days that do not balance. Any thread. */
void notify_books(struct operations *operations, bool wrong, const char *example, int64_t now_ms);
