/*
 * The tests every store must pass. Each runs on a fresh store of `subject_under_test`.
 */
#pragma once

#include "check.h"
#include "subject.h"
#include "world.h"

extern struct subject *subject_under_test;

void run_intake_tests(void);         /* verdicts, rewards, reversals, the cap */
void run_callback_tests(void);       /* the sink, paging, outcomes, resend */
void run_reading_tests(void);        /* reports, objects, erasing, numbers, reopening */
void run_list_tests(void);           /* lists of callbacks and of events */
void run_erasing_tests(void);        /* what comes right behind an erasure */
void run_intraday_tests(void);       /* how a day goes, and what it is compared by */
void run_delivery_stats_tests(void); /* attempts, counted by endpoint and account */
void run_statement_tests(void);      /* statements and what happened on a day */
void run_turns_tests(void);          /* reads of one account beside another's */
void run_books_tests(void);          /* the ledger against the events */
void run_retention_tests(void);      /* bodies of what became final late */
void run_fence_tests(void);          /* outcomes under fences, where there are leases */
/* Random requests to the store and to the oracle, compared at every step. */
void run_differential_tests(uint64_t first_seed, int seeds, int steps);

/* Histories of everything at once, in groups whose requests do not wait for each other. */
void run_history_tests(uint64_t first_seed, int seeds, int groups);

/* A fresh store for one test, with a clock that stands at BASE_MS. */
struct subject *fresh(void);
void done_with(struct subject *s);
bool has_leases(void); /* whether it is of many nodes: some tests are of such only */
void run_fresh(void (*test)(struct subject *s), const char *name);
#define RUN_FRESH(test) run_fresh(test, #test)

/* The verdict on one item, submitted alone at BASE_MS. */
struct verdict submit_one(struct subject *s, struct candidate c);
/* Accepted events of both partners, of most types, live and test, some of days before. */
void submit_traffic(struct subject *s);
/* The EventIds of a list, and `+` if there are more; until the next call. Defaults: account A, no
 * limit. */
const char *list_text(struct subject *s, struct callback_list l);
/* The callback's row, or a zeroed one; texts live until the subject's next call of this. */
struct callback_row row_of(struct subject *s, uint32_t account_no, const char *event_id);
