/* Logs a warning if the wall clock is not synchronized at the start, if it jumps later or reads
 * what it cannot be, or if a client has survey outcomes but no survey starts, so that its Active
 * Panelists would be zero. It only logs. What a jump of the clock changes for waiting callbacks is
 * decided in delivery/dispatcher_clock.c. The watch also returns unused memory to the system. It
 * runs on the main thread, which may block, but not for long: signals come between its calls. */
#pragma once

#include "accounts/directory.h"
#include "store/store.h"

struct watch;

/* False: the system's clock is out of the bounds of env_wall_ms, and *ret_why (the caller's) says
 * what it reads. */
MUST_CHECK bool watch_clock_is_possible(char **ret_why);

struct watch *watch_new(struct env *env, struct store *store, struct directory *directory);
void watch_look(struct watch *watch); /* call it often; it checks what is due */
void watch_free(struct watch *watch);

/* The first of the rows' clients, from client_no `after` on, that has survey conversions and no
 * survey start in any of the rows; 0: none. Rows in the store's order. */
uint32_t watch_find_startless(const struct report_row *rows, size_t count, uint32_t after);
