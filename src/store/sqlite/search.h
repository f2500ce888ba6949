/* Finds callbacks by app, type and state, even if few among very many match: the table `search` has
 * a set for each account, app, type and state (search_set.h). */
#pragma once

#include "store/sqlite/accepted.h"
#include "store/sqlite/lookup.h"

/* The first `most` ids, in the list's order, of the range (of the list's account) that match the
 * list's app, type and state; an unset filter matches all. `ids` has room for twice as many. States
 * are stored ones. */
size_t search_ids(struct event_lookup *l, const struct callback_list *list, struct range range,
                  uint64_t *ids, size_t most);

/* Counts the callbacks of one stored state that were accepted in the times of `c`, by app, into
 * c->apps. */
void search_count(struct event_lookup *l, struct callback_count *c, enum callback_state state,
                  struct range range, size_t *capacity);

/* The first callback that waits in a lane; 0: none. */
uint64_t search_first_waiting(struct event_lookup *l, uint32_t account_no, uint32_t app_no,
                              enum lane_kind kind);
