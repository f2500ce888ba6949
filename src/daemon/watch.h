/* What nobody asks for and everybody wants to know: a clock that is off or jumps, and clients whose
 * operator reports outcomes but no starts (their Active Panelists would be zero). Warnings in the
 * log; nothing is changed, but memory without a use goes back to the system. On the main thread,
 * which may wait. */
#pragma once

#include "accounts/directory.h"
#include "store/store.h"

struct watch;

struct watch *watch_new(struct env *env, struct store *store, struct directory *directory);
void watch_look(struct watch *watch); /* often; it knows by itself what is due */
void watch_free(struct watch *watch);

/* The first of the rows' clients, from client_no `after` on, that has survey conversions and no
 * survey start in any of the rows; 0: none. Rows in the store's order. */
uint32_t watch_find_startless(const struct report_row *rows, size_t count, uint32_t after);
