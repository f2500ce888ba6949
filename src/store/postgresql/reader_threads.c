/* The threads that read: each runs its requests in order, and one of them packs keys between two.
 */
#include "store/postgresql/reader_threads.h"

#include "base/log.h"
#include "store/postgresql/change_log.h"
#include "store/postgresql/delivery_stats_sql.h"
#include "store/postgresql/pack_keys.h"
#include "store/postgresql/pg_pages.h"
#include "store/postgresql/pg_reads.h"
#include "store/postgresql/pg_scans.h"
#include "store/postgresql/replica.h"
#include "store/postgresql/transaction_retry.h"
#include "store/postgresql/waiting.h"

#include <stdlib.h>

#define PG_GROUP_PAGED 4096u /* bound on the callbacks of pages read together */

/* Keys are packed by one thread of the first node, between two scans: for a quarter of its time, as
 * the pause behind a slice is three times as long as the slice took. */
#define PACK_LOOK_MS 10000
#define PACK_PAUSE_TIMES 3

/* --- reads ------------------------------------------------------------------------------------ */

static pg_work work_of(enum request_kind kind)
{
    switch (kind) {
    case REQUEST_REPORT: return pg_read_report;
    case REQUEST_INTRADAY: return pg_read_intraday;
    case REQUEST_DELIVERY_STATS: return pg_read_delivery_stats;
    case REQUEST_STATEMENT: return pg_read_statement;
    case REQUEST_COUNT: return pg_read_count;
    case REQUEST_BOOKS: return pg_read_books;
    case REQUEST_WAITING: return pg_read_waiting;
    case REQUEST_CALLBACK: return pg_read_callback;
    case REQUEST_CALLBACKS: return pg_read_list;
    case REQUEST_OBJECTS: return pg_read_objects;
    case REQUEST_FEED: return pg_read_change_log;
    default: UNREACHABLE();
    }
}

/* The status that a successful read has set itself, if its kind of request has one. */
static enum store_status status_found(const struct request *r)
{
    switch (r->kind) {
    case REQUEST_CALLBACK: return ((const struct callback_get *)r->what)->status;
    case REQUEST_CALLBACKS: return ((const struct callback_list *)r->what)->status;
    default: return STORE_OK;
    }
}

static bool packs_keys(const struct pg_reader *reader)
{
    return reader->is_scans && reader->number == PG_READERS - 1;
}

/* Returns how long to wait before the next slice. */
static int64_t pack_slice(struct pg_reader *reader, struct key_packer *packer)
{
    struct postgresql_store *s = reader->store;
    bool idle = true;
    if (!leases_first(&s->nodes.leases) || !pg_store_connect(s, &reader->pg))
        return PACK_LOOK_MS;
    int64_t begin_ms = env_mono_ms(env_real());
    enum pg_fate fate = pack_keys(&reader->pg, packer, false, &idle);
    if (fate == PG_REFUSED && packer->warned_of != packer->account_no)
        log_warning("keys_not_packed", LOG_STR("why", buf_str(&reader->pg.why)));
    if (fate == PG_REFUSED)
        packer->warned_of = packer->account_no;
    if (fate != PG_OK || idle)
        return PACK_LOOK_MS;
    return 1 + PACK_PAUSE_TIMES * (env_mono_ms(env_real()) - begin_ms);
}

static void read_all(struct pg_reader *reader)
{
    struct postgresql_store *s = reader->store;
    struct queue *from = reader->is_scans ? &s->to_scans : &s->to_reads;
    struct key_packer packer = {0};
    int64_t pack_mono_ms = env_mono_ms(env_real()) + PACK_LOOK_MS;
    for (;;) {
        int64_t left_ms = pack_mono_ms - env_mono_ms(env_real());
        bool is_due = packs_keys(reader) && left_ms <= 0; /* however many scans wait */
        struct request *r =
            is_due ? NULL
                   : queue_take_turn(from, reader->number, packs_keys(reader) ? left_ms : -1);
        if (!r) {
            queue_end_turn(from, reader->number);
            left_ms = pack_slice(reader, &packer);
            pack_mono_ms = env_mono_ms(env_real()) + left_ms;
            continue;
        }
        if (r->kind == REQUEST_STOP) {
            key_packer_free(&packer);
            free(r);
            return;
        }
        pg_work work = work_of(r->kind);
        enum store_status status = pg_replica_read(reader, r->kind, work, r->what)
                                       ? STORE_OK
                                       : pg_try_read(s, &reader->pg, work, r->what);
        request_finish(r, status == STORE_OK ? status_found(r) : status);
    }
}

/* Groups page requests: lanes often run dry at the same time. */
static struct request_list take_pages(struct request_list *from)
{
    struct request_list group = {0};
    bool brief = ((const struct due_page *)from->first->what)->brief;
    for (size_t n = 0; from->first && from->first->kind == REQUEST_PAGE && n < PG_GROUP_PAGED;) {
        const struct due_page *page = from->first->what;
        if (page->brief != brief)
            break;
        n += page->limit;
        request_list_add(&group, request_list_take(from));
    }
    return group;
}

/* If the database refuses the group, its pages are read one by one. */
static void read_pages(struct postgresql_store *s, struct request_list *group)
{
    enum store_status status = pg_try_read(s, &s->pages, pg_read_pages, group);
    bool alone = status == STORE_REFUSED && group->first->next;
    while (group->first) {
        struct request_list one = {0};
        request_list_add(&one, request_list_take(group));
        if (alone)
            status = pg_try_read(s, &s->pages, pg_read_pages, &one);
        request_finish(one.first, status);
    }
}

void *pg_pages_main(void *arg)
{
    struct postgresql_store *s = arg;
    CHECK_MAGIC(s, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), "store-pages");
    for (bool stop = false; !stop;) {
        struct request_list todo = queue_take_all(&s->to_pages, -1);
        while (todo.first) {
            if (todo.first->kind == REQUEST_STOP) {
                free(request_list_take(&todo));
                stop = true;
                continue;
            }
            struct request_list group = take_pages(&todo);
            read_pages(s, &group);
        }
    }
    return NULL;
}

void *pg_reader_main(void *arg)
{
    struct pg_reader *reader = arg;
    CHECK_MAGIC(reader->store, POSTGRESQL_STORE_MAGIC);
    pthread_setname_np(pthread_self(), reader->is_scans ? "store-scans" : "store-reads");
    read_all(reader);
    return NULL;
}
