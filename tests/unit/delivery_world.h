/* A small world for tests of delivery: virtual time, receivers that answer as told, a store that
 * keeps rows in a list and answers late, and a directory of a few apps. One thread; the "loops"
 * are task queues run in turn. */
#pragma once

#include "delivery_world_store.h"

/* --- events --- */

struct world_row *world_add_row(struct world *w, uint32_t app_no, uint64_t event_no);

/* An event is accepted: stored, then handed over. */
void world_accept(struct world *w, uint32_t app_no, uint64_t event_no);

void world_accept_many(struct world *w, uint32_t app_no, uint64_t first, uint64_t last);

/* A start: `each` callbacks of each of so many apps wait in the store. */
void world_recover_apps(struct world *w, uint32_t apps, uint64_t each);

void world_resend(struct world *w, struct world_row *row);

/* --- the clockwork --- */

bool world_run_tasks(struct world *w);

/* Runs everything that happens within so many milliseconds. */
void world_run(struct world *w, int64_t for_ms);

struct world_answer world_ok(struct world *w, const struct exchange *x, uint32_t app);

/* Replaces the app: host -1: no URL. */
struct app *world_set_app(struct world *w, uint32_t app_no, int host);

struct world *world_open(size_t loops, const char *schedule);

void world_stopped(struct task *task);

void world_close(struct world *w);

size_t world_count(const struct world *w, enum callback_state state);

/* --- receivers --- */

struct world_answer world_always_404(struct world *w, const struct exchange *x, uint32_t app);

struct world_answer world_always_500(struct world *w, const struct exchange *x, uint32_t app);

struct world_answer world_refused(struct world *w, const struct exchange *x, uint32_t app);

int64_t world_in_ram(struct world *w);

struct world_answer world_slow(struct world *w, const struct exchange *x, uint32_t app);
