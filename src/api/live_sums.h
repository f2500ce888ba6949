/* What the streams of GET /api/v1/live count: how often something happened in each app, and the
 * events that each account had accepted. The sums only grow; a stream keeps what it has sent of its
 * own account's apps. Callers hold the lock of live.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct live_app {
    uint32_t app_no;
    uint64_t delivered, failed, dead, skipped, endpoint;
};

/* The apps in which something has happened. An app keeps its place. */
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

/* What a stream has sent of one account; zero-initialised is nothing. */
struct live_sent {
    uint64_t accepted;
    struct live_app *apps; /* by place */
    size_t capacity;
};

void live_sums_free(struct live_sums *sums);
/* Both stay valid until the next call of either. An app stays in its account: NULL if it is counted
 * in another one. Only a damaged store can name two, which is no reason to end the process. */
struct live_account *live_sums_account(struct live_sums *sums, uint32_t account_no);
struct live_app *live_sums_app(struct live_sums *sums, uint32_t account_no, uint32_t app_no);

/* The next app, from *place on, with news for the stream, and *ret_sent what was sent of it: the
 * caller sends the difference and copies. *place is then behind it. NULL: no further one. */
const struct live_app *live_sent_next(struct live_sent *sent, const struct live_account *account,
                                      size_t *place, struct live_app **ret_sent);
void live_sent_free(struct live_sent *sent);
