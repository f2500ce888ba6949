/* What the tests of the SQLite store share: asking and waiting, a store in a directory of its own,
 * events of one small app. For one test program: there is one store at a time. */
#pragma once

#include "check.h"

#include "base/buf.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "store/store_open.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#define NOW_MS INT64_C(1763726400000)

/* --- asking and waiting ----------------------------------------------------------------------- */

struct waiter {
    struct executor executor;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int done;
};

void waiter_post(struct executor *executor, struct task *task);

extern struct waiter waiter;

void nothing(struct task *task);

void await(void);

#define ASK(function, store, what)                                                                 \
    do {                                                                                           \
        (what)->done.run = nothing;                                                                \
        (what)->reply_to = &waiter.executor;                                                       \
        function(store, what);                                                                     \
        await();                                                                                   \
    } while (0)

/* The sink keeps what it was handed, by event number of the last account. */
struct test_sink {
    struct owed_sink sink;
    pthread_mutex_t mutex;
    struct callback *items[4096];
    size_t count;
};

extern struct test_sink sink;

void sink_clear(void);

/* --- a store in a directory of its own -------------------------------------------------------- */

extern char directory[64];
extern struct store *store;

void remove_tree(const char *path);

/* The store's wall clock stands still until a test moves it. */
extern _Atomic int64_t wall_now_ms;

/* Nothing gets old enough to be applied by itself. */
extern atomic_bool mono_stands_still;
extern _Atomic int64_t mono_added_ms;

extern struct env test_env;

/* The real disk, but for syncs that fail when told to. */
extern _Atomic bool syncs_fail;
extern struct disk test_disk;

/* What a test puts in the way of the disk's calls, while threads make them; NULL: nothing. */
extern int (*_Atomic test_open_hook)(struct disk *, const char *, bool, bool);
extern int (*_Atomic test_sync_hook)(struct disk *, int);
extern ssize_t (*_Atomic test_read_hook)(struct disk *, int, void *, size_t, int64_t);
extern ssize_t (*_Atomic test_write_hook)(struct disk *, int, const void *, size_t, int64_t);

/* 0: as it is without. */
extern size_t test_segment_bytes, test_group_bytes, test_memtable_bytes;
extern int test_checkpoint_pages; /* 0: as it is without */
extern int64_t test_scrub_interval_ms;

struct store *open_store(char **ret_why);

void reopen(void);

void begin(void);

void end(void);

/* --- events ------------------------------------------------------------------------------------
 */

extern const struct app_terms terms;

struct candidate make(enum event_type type, const char *event_id, const char *panelist);

struct verdict submit_at(struct candidate c, int64_t received_ms);
/* For events that the store may refuse. */
enum store_status try_to_submit(const char *event_id);

struct verdict submit(struct candidate c);

struct verdict submit_new(enum event_type type, const char *event_id, const char *panelist);

void record(uint64_t event_no, enum lane_kind lane, enum callback_state state, int64_t due_ms,
            int number);

/* The event numbers on a page of the lane, as text: "1 2 3". */
const char *page(enum lane_kind lane, int64_t until_ms, struct due_page *ret);

struct callback_get get(const char *event_id);

size_t attempts_of(const char *event_id);

struct report_row report(bool include_test);
