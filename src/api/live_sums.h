/* What the streams of GET /api/v1/live count: changes per app, and accepted events per account. The
 * sums only grow; each stream remembers the sums that it has sent. Callers hold the lock of
 * live.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct live_app {
    uint32_t app_no;
    uint64_t delivered, failed, dead, skipped, endpoint;
};

/* The apps with changes. An app keeps its place. */
struct live_account {
    uint64_t accepted; /* events */
    struct live_app *apps;
    size_t count, capacity;
};

/* Zero-initialised is empty. */
struct live_sums {
    struct live_account *accounts; /* by account_no */
    size_t account_capacity;
    uint32_t *places; /* by app_no: the place among its account's apps, from 1 on; 0: none */
    size_t place_capacity;
};

/* The sums of one account that a stream has sent; zero-initialised: none. */
struct live_sent {
    uint64_t accepted;
    struct live_app *apps; /* by place */
    size_t capacity;
};

void live_sums_free(struct live_sums *sums);
/* Both results stay valid until the next call of either. NULL: the app is counted in another
 * account. An app never changes its account, so only a damaged store can cause that: no reason to
 * end the process. */
struct live_account *live_sums_account(struct live_sums *sums, uint32_t account_no);
struct live_app *live_sums_app(struct live_sums *sums, uint32_t account_no, uint32_t app_no);

/* Finds the next app, from *place on, whose sums differ from those sent (*ret_sent): the caller
 * sends the difference and copies the sums. Moves *place behind the app. NULL: there is none. */
const struct live_app *live_sent_next(struct live_sent *sent, const struct live_account *account,
                                      size_t *place, struct live_app **ret_sent);
void live_sent_free(struct live_sent *sent);
