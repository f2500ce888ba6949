/* Has the store check its books (store/books.h) again and again, at little cost, and reports
 * mismatches: in the log (with app, day and difference), in metrics and in /healthz. It changes
 * nothing; delivery goes on.
 *
 * Two rounds take turns: today and yesterday every 15 seconds, and everything soon after the start
 * and then at most once an hour. After each step the store rests for fifty times the step's
 * duration. */
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
/* Call it often on the main thread: takes an answer, or sends the next request. Never waits. */
void books_watch_step(struct books_watch *a);
void books_watch_stop(
    struct books_watch *a); /* waits for the answer under way; before the store closes */
void books_watch_free(struct books_watch *a); /* stopped */

struct books_state { /* since the start */
    int64_t days_checked, callbacks_checked;
    int64_t wrong_days;      /* (account, day) pairs with a mismatch at their last check */
    int64_t round_ended_ms;  /* wall: end of the last whole round; 0: none yet */
    char wrong_example[192]; /* a sentence about one of them; empty: none */
};
void books_watch_get(struct books_watch *a, struct books_state *ret); /* any thread */
