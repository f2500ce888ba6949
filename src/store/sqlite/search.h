/* Finding callbacks by app, type and state, however few there are among however many: the table
 * `search` has a set of each account, app, type and state (search_set.h). */
#pragma once

#include "store/sqlite/accepted.h"
#include "store/sqlite/lookup.h"

/* The first `most` ids of the range, which is of the list's account, in the list's order that its
 * app, type and state allow; those it does not name are all. `ids` has room for twice as many. A
 * state is the stored one. */
size_t search_ids(struct event_lookup *l, const struct callback_list *list, struct range range,
                  uint64_t *ids, size_t most);

/* Counts those of one stored state that were accepted in the times of `c`, by app, into c->apps. */
void search_count(struct event_lookup *l, struct callback_count *c, enum callback_state state,
                  struct range range, size_t *capacity);

/* The first one that waits in a lane; 0: none. */
uint64_t search_first_waiting(struct event_lookup *l, uint32_t account_no, uint32_t app_no,
                              enum lane_kind kind);
