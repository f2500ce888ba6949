/* The state of deciding one group of events: pg_intake.c decides, intake_lookups.c looks things up,
 * intake_write.c writes. */
#pragma once

#include "domain/cap.h"
#include "store/idmap.h"
#include "store/postgresql/fetch_rows.h"
#include "store/postgresql/postgresql_store.h"

/* An account that the group has events of: its row, which is locked, with the changes of the
 * group. */
struct intake_account {
    uint32_t account_no;
    uint64_t last_event_no;
    int64_t last_accepted_ms;
    int32_t period;
};

/* What an event's or an original's key finds. */
struct found_key {
    bool found;
    uint64_t content;
    uint64_t event_no;
    int32_t period;
};

struct intake_item {
    const struct candidate *c;
    struct verdict *verdict;
    int64_t received_ms;
    struct intake_account *account;
    struct found_key key, original; /* in the database */
    /* Payments of the cap in the database. They may include those that other items of the panelist
     * ask for. */
    struct payments paid;
    int64_t paid_after_ms, paid_before_ms;
    /* the database has a start of its panelist at its client on its day; not looked up for tests if
     * there is a live one */
    bool started_live, started_test;
    size_t same_question; /* index + 1 of an earlier item with the same look-up; 0: none */
    bool accepted;
    bool own; /* accepted by an earlier try of this group whose commit was in doubt */
    struct callback_life life; /* of its callback, if accepted */
    bool presumed;             /* its row presumes delivery (pg_row.h) */
    int32_t period;
    bool begins_period;                 /* it is the first of its account in its period */
    bool first_start, first_live_start; /* of its panelist, at its client on its day */
    struct event event;                 /* if accepted */
    /* index + 1 of the next earlier item in a chain */
    size_t next_key, next_panelist, next_reversal;
    size_t next_question; /* the same, in the chain of items that are looked up */
};

struct pg_intake {
    struct postgresql_store *s;
    struct pg *pg;
    struct pg_writer *writer;
    struct arena *arena;
    struct intake_item *items;
    size_t count;
    struct intake_account *accounts; /* ordered by number */
    size_t account_count;
    struct fetched originals;
    bool *reversed; /* for each of originals.rows */
    struct idmap by_key, by_panelist, by_reversal, by_question;
    int64_t *paid_at_ms; /* scratch: the payments that one item is decided by */
    size_t paid_capacity;
    struct buf body;                                  /* scratch for printing */
    int at_accounts, at_keys, at_payments, at_starts; /* statements of the first trip; -1: none */
};

/* A key of an item, or of its original. They are put in the order of the server's indexes, so that
 * neighbours touch the same pages. */
struct intake_key {
    uint32_t account_no;
    struct key128 key;
    size_t index; /* the caller's */
};
int intake_key_compare(const void *a, const void *b); /* for qsort: by account, then key */

/* Puts an item in front of the chain of its hash; the first of a chain, index + 1. */
void pg_intake_chain(struct idmap *map, uint64_t hash, size_t index, size_t *next);
size_t pg_intake_first(const struct idmap *map, uint64_t hash);
uint64_t pg_intake_panelist_hash(uint32_t account_no, struct str panelist_id);

/* Events to accept in one transaction. */
struct pg_intake_group {
    const struct request_list *batches;
    const bool *left_out; /* items to leave out of its only batch; NULL: none */
    bool is_trial; /* the transaction is rolled back: it only tells whether it would succeed */
};

/* The batches of one group; fills in verdicts and the writer's owed callbacks. */
enum pg_fate pg_take_in(struct postgresql_store *s, struct pg *pg, void *intake_group);
