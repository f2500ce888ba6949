/* Reads callbacks. */
#pragma once

#include "store/sqlite/lookup.h"

enum store_status read_callback(struct event_lookup *l, uint64_t id, struct callback_get *get);
enum store_status read_list(struct event_lookup *l, const struct hash_secret *secret, uint64_t id,
                            struct callback_list *list);
