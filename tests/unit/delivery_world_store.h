/* The store of delivery_world.h: rows in a list, answers late. It keeps the contract of store.h and
 * no more: records take effect in order, some time after they were asked for; a page is read at
 * some moment between asking and answering. */
#pragma once

#include "delivery_world_runtime.h"

extern bool world_is_shared; /* with other nodes: set before the world is opened */

struct leases *world_leases(struct store *s);

struct callback *world_callback(const struct world_row *row);

void world_hand_over(struct world *w, const struct world_row *row);

void world_owe_resend(struct world *w, struct world_row *row);

void world_erase_row(struct world_row *row);

void world_request(struct store *s, enum request_kind kind, void *what);

void world_run_store(struct world *w);
