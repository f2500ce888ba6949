/* Everything a store can be asked for, as text: two stores hold the same when their texts are the
 * same. What each makes up for itself (names of the erased) is left out. */
#pragma once

#include "../conformance/subject.h"

#include "base/buf.h"

/* Adds to `to`. Objects can be asked for before the start only. */
void state_add_objects(struct subject *s, struct buf *to);
void state_add(struct subject *s, struct buf *to);
/* The first line in which they differ, on stdout. */
void state_print_difference(const struct buf *got, const struct buf *want);
