/* Turns what delivery, certificates and the books report into events of operations/, which writes
 * to partners and to the operator. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"

/* On a loop; does not block. */
void notify_lane(struct operations *operations, const struct lane_notice *notice);
void notify_certificate(struct operations *operations, const struct app *app, enum lane_kind kind,
                        int64_t expires_ms, bool soon);
/* Joins the watch of the daemon's own certificates to its operations: the listener's is told to
 * the operator, an app's to its partner, too. */
struct daemon;
void notify_of_own_certificates(struct daemon *d);
/* For the operator; `example` names days that do not balance. Any thread. */
void notify_books(struct operations *operations, bool wrong, const char *example, int64_t now_ms);
