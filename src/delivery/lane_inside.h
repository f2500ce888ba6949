/* What lane.c and lane_page.c share: moves of one entry of what a lane holds. */
#pragma once

#include "delivery/lane.h"

void lane_remember(struct lane *lane, struct callback *c, enum held_place place);
/* The entry has left memory and nothing of it is being recorded. */
void lane_release(struct lane *lane, struct held_entry *e);
/* A page or another process has shown the lane this callback. */
void lane_note_shown(struct lane *lane, uint64_t event_no);
