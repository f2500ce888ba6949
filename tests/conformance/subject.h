/*
 * A store under test, driven from one thread as if it answered at once: every helper asks, waits
 * for `done`, and hands out what came back. What the store gives to its sink is kept in order.
 *
 * Items are store-independent: the key and the content hash are computed here for the store they
 * are submitted to.
 */
#pragma once

#include "base/env.h"
#include "store/store_open.h"

#include <pthread.h>

#define DAY ((int64_t)86400000)
#define BASE_MS ((int64_t)1763726400000) /* 2025-11-21T12:00:00Z: "now" at the start of a test */

/* A clock that stands still unless told, and randomness from a seed; mono_ms is the real one. */
struct test_env {
    struct env env;
    int64_t wall_ms;
    struct rng rng;
    pthread_mutex_t lock;
};
void test_env_init(struct test_env *e, uint64_t seed);

struct subject {
    const char *name;
    struct store *(*open)(struct subject *s);
    void (*clean)(struct subject *s); /* removes what the store left behind; may be NULL */
    void *context;
    /* NULL: the store's numbers tell whether its clock of retention has begun */
    bool (*has_clock)(const struct subject *s);
    bool keeps; /* what was recorded is there after close and open */
    /* Where a journal is kept, else NULL. keep_empty: copies the store as it is, once nothing was
     * asked of it yet; replay: makes a subject of that copy and the present journal. */
    void (*keep_empty)(struct subject *s);
    void (*replay)(const struct subject *s, struct subject *ret);

    struct test_env *env;
    struct store *store;
    struct executor executor;
    struct owed_sink sink;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first, *last;
    const struct task *awaited; /* by subject_wait: nobody is woken for others */
    struct callback **owed;     /* what the sink was given and nobody has taken */
    size_t owed_count, owed_capacity;
    /* what the sink was given of events whose rows presume delivery (store/outcome.h) */
    struct owed_presumed {
        uint32_t account_no;
        uint64_t event_no;
        struct outcome_presumed what; /* its text is in the arena */
    } * presumed;
    size_t presumed_count, presumed_capacity;
    struct arena presumed_texts;
};

void subject_open(struct subject *s, struct test_env *env); /* opens and starts; fails loudly */
/* False where it cannot be opened; there is then nothing to close. */
bool subject_open_unstarted(struct subject *s, struct test_env *env);
void subject_close(struct subject *s);
/* Only where keeps. What must be asked before the start is asked between the last two. */
void subject_reopen(struct subject *s);
void subject_reopen_unstarted(struct subject *s);
void subject_start(struct subject *s);
/* Waits for a task this subject's store was asked to post. */
void subject_wait(struct subject *s, const struct task *done);
/* Waits until the sink was given `count` callbacks (or a few seconds have passed: fewer), then
 * hands them over, malloc'ed; they are the caller's. */
size_t subject_take_owed(struct subject *s, size_t count, struct callback ***ret);
void drop_callbacks(struct callback **callbacks, size_t count); /* and the array */

/* Into ret_verdicts, count of them. */
enum store_status subject_submit(struct subject *s, const struct candidate *items, size_t count,
                                 int64_t received_ms, struct verdict *ret_verdicts);
/* Like subject_submit, but the batch's memory is the caller's to keep until done; for what may
 * never be answered. */
struct intake_batch *subject_make_batch(struct subject *s, const struct candidate *items,
                                        size_t count, int64_t received_ms);
void free_batch(struct intake_batch *batch);
/* The store must accept it. */
void accept_at(struct subject *s, struct candidate c, int64_t occurred_ms, int64_t received_ms);
/* If an event's row presumes delivery, its outcome says so for odd event numbers, as if the
 * callback that the sink was given had been sent. For even ones it does not, so that the store
 * reads the row. */
enum store_status subject_record(struct subject *s, const struct outcome *items, size_t count);
void subject_page(struct subject *s, struct due_page *page); /* the caller drops page->items */
void subject_start_page(struct subject *s, struct due_page *page);  /* subject_wait its done */
void subject_report(struct subject *s, struct report_query *query); /* the caller frees rows */
void subject_intraday(struct subject *s, struct intraday_query *query);
void subject_delivery_stats(struct subject *s, struct delivery_stats_query *query);
void subject_statement(struct subject *s, struct statement_query *query); /* ... frees apps */
void subject_count(struct subject *s, struct callback_count *count);      /* the same */
/* Of all that was acknowledged before; the caller frees differences. */
void subject_check_books(struct subject *s, struct books_check *check);
void subject_lane_waiting(struct subject *s, struct lane_waiting *waiting);
void subject_get(struct subject *s, struct callback_get *get); /* the caller frees the arena */
void subject_start_get(struct subject *s, struct callback_get *get); /* subject_wait its done */
void subject_list(struct subject *s, struct callback_list *list);    /* the same */
void subject_start_resend(struct subject *s, struct resend *resend); /* subject_wait its done */
void subject_ask_resend(struct subject *s, struct resend *resend);
void subject_start_erase(struct subject *s, struct erase *erase); /* subject_wait its done */
void subject_ask_erase(struct subject *s, struct erase *erase);
enum store_status subject_resend(struct subject *s, uint32_t account_no, const char *event_id,
                                 int64_t now_ms);
enum store_status subject_resend_only(struct subject *s, uint32_t account_no, const char *event_id,
                                      int64_t now_ms, unsigned only_states);
enum store_status subject_erase(struct subject *s, uint32_t account_no, const char *panelist_id,
                                int64_t *ret_erased);
/* The numbers, once (or a few seconds at most after) they are the wanted ones: they may lag.
 * The oldest may be NUMBERS_ANY. */
#define NUMBERS_ANY (-1)
struct store_numbers subject_numbers(struct subject *s, int64_t pending, int64_t delivered,
                                     int64_t dead, int64_t oldest_ms);
enum store_status subject_object(struct subject *s, enum object_kind kind, const char *id,
                                 const char *document);
enum store_status subject_object_with(struct subject *s, enum object_kind kind, const char *id,
                                      const char *document, const struct object_part *parts,
                                      size_t part_count);
/* "id=document;" of each, "+" at the end where there are more; in a static buffer. */
const char *subject_objects(struct subject *s, enum object_kind kind, const char *from,
                            const char *below, uint32_t limit);
