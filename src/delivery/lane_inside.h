/* Functions that lane.c and lane_page.c share: transitions of one entry of the in-flight table. */
#pragma once

#include "delivery/lane.h"

void lane_remember(struct lane *lane, struct callback *c, enum inflight_place place);
/* Removes an entry whose callback has left memory and whose outcomes are all durable. */
void lane_release(struct lane *lane, struct inflight_entry *e);
/* Notes that a page or another process has shown the lane this callback. */
void lane_note_shown(struct lane *lane, uint64_t event_no);
