/* Has the store check its books (store/books.h), for ever and at little cost, and says
 * where they do not hold: in the log with app, day and difference, in metrics and in /healthz.
 * Nothing else follows from it; delivery goes on.
 *
 * Two rounds take turns: today and yesterday every quarter of a minute, everything there is once an
 * hour at most and soon after the start. Whatever a step took, the store rests fifty times as long.
 */
#pragma once

#include "accounts/directory.h"
#include "base/env.h"
#include "store/store.h"

struct books_watch;

struct books_watch *books_watch_new(struct env *env, struct store *store,
                                    struct directory *directory);
/* books_watch_step calls on_change when the result has changed: `wrong` if the books of any day are
 * wrong, with an example. */
void books_watch_set_callback(struct books_watch *a,
                              void (*on_change)(void *context, bool wrong, const char *example),
                              void *context);
/* On the main thread, often: takes an answer that has come, asks when it is time. Never waits. */
void books_watch_step(struct books_watch *a);
void books_watch_stop(
    struct books_watch *a); /* waits for the answer under way; before the store closes */
void books_watch_free(struct books_watch *a); /* stopped */

struct books_state { /* since the start */
    int64_t days_checked, callbacks_checked;
    int64_t wrong_days;      /* (account, day) that do not hold, as last looked at */
    int64_t round_ended_ms;  /* wall: when everything was last looked at; 0: not yet */
    char wrong_example[192]; /* a sentence about one of them; empty: all hold */
};
void books_watch_get(struct books_watch *a, struct books_state *ret); /* any thread */
