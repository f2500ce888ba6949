/* What delivery says of lanes, handed to those who tell partners. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"

/* On a loop; does not block. */
void told_lane(struct operations *operations, const struct lane_notice *notice);
void told_certificate(struct operations *operations, const struct app *app, enum lane_kind kind,
                      int64_t expires_ms, bool soon);
/* Of the operator; `example` says which do not balance. Any thread. */
void told_books(struct operations *operations, bool wrong, const char *example, int64_t now_ms);
