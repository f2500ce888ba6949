/* Turns reports of delivery, certificates and books into events of operations/, which writes to
 * partners and to the operator. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"

/* On a loop; does not block. */
void notify_lane(struct operations *operations, const struct lane_notice *notice);
void notify_certificate(struct operations *operations, const struct app *app, enum lane_kind kind,
                        int64_t expires_ms, bool soon);
/* Connects certificate_watch to operations: the operator gets messages about the listener's
 * certificate; about an app's, the partner does, too. */
struct daemon;
void notify_of_own_certificates(struct daemon *d);
/* For the operator; `example` names days with a mismatch. Any thread. */
void notify_books(struct operations *operations, bool wrong, const char *example, int64_t now_ms);
