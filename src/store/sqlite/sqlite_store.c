/* The store's operations: each becomes a request to the thread that runs it. */
#include "store/sqlite/sqlite_store.h"

#include "base/alloc.h"
#include "store/sqlite/applier.h"
#include "store/sqlite/page.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/recover.h"
#include "store/sqlite/writer_thread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* The WAL is checkpointed when it has this many pages of 4 KiB (64 MiB). */
#define CHECKPOINT_PAGES 16384

/* --- requests --------------------------------------------------------------------------------- */

static void sqlite_request(struct store *store, enum request_kind kind, void *what)
{
    struct sqlite_store *s = sqlite_store_of(store);
    if (sqlite_reads(kind))
        atomic_fetch_add(&s->open_reads, 1);
    struct request *r = request_new(kind, what);
    if (kind == REQUEST_PAGE)
        r->page = page_work_new(what);
    queue_post(kind == REQUEST_PAGE    ? &s->to_pages
               : kind == REQUEST_BOOKS ? &s->to_scans
                                       : &s->to_writer,
               r);
}

static void sqlite_look(struct store *store)
{
    admission_measure(sqlite_store_of(store));
}

static void sqlite_numbers(struct store *store, struct store_numbers *ret)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct numbers *n = &s->numbers;
    long long cache_bytes = 0;
    for (size_t i = 0; i < CACHES; i++)
        cache_bytes += atomic_load(&n->cache_bytes[i]);
    *ret = (struct store_numbers){
        .events_accepted = atomic_load(&n->accepted),
        .callbacks_delivered = atomic_load(&n->delivered),
        .callbacks_dead = atomic_load(&n->dead),
        .callbacks_pending = atomic_load(&n->pending),
        .oldest_pending_ms = atomic_load(&n->oldest_pending_ms),
        .last_accepted_ms = atomic_load(&n->last_accepted_ms),
        .retention_clock_ms = atomic_load(&n->retention_clock_ms),
        .memtable_events = atomic_load(&n->memtable_events),
        .journal_bytes = (int64_t)journal_live_bytes(s->journal),
        .page_cache_bytes = cache_bytes,
        .memtable_bytes = atomic_load(&n->memtable_bytes),
        .filter_bytes = atomic_load(&n->filter_bytes),
        .mapped_filter_bytes = atomic_load(&n->mapped_filter_bytes),
        .disk_free_bytes = atomic_load(&s->admission.free_bytes),
        .disk_reserve_bytes = atomic_load(&s->admission.reserve_now_bytes),
        .journal_most_bytes = s->admission.journal_most_bytes,
    };
    scrub_get_numbers(s->scrub, ret);
    for (size_t i = 0; i < STORE_TIMINGS; i++)
        timing_get(&n->timings[i], &ret->timings[i]);
    const struct timing_numbers *commit = &ret->timings[STORE_TIME_COMMIT];
    for (size_t i = 0; i < TIMING_BUCKETS; i++)
        ret->commits += commit->counts[i];
}

static void sqlite_set_bounds(struct store *store, const struct store_bounds *bounds)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct admission *b = &s->admission;
    retention_share(&s->retention, &bounds->retention);
    atomic_store(&b->reserve_bytes, bounds->disk_reserve_bytes);
    atomic_store(&b->next_look_mono_ms, 0);
    queue_post(&s->to_applier, request_new(REQUEST_PURGE, NULL));
}

/* --- before the start: on the applier's connection, which is not in use yet ------------------ */

static const struct hash_secret *sqlite_hash_secret(struct store *store)
{
    return &sqlite_store_of(store)->apply.secret;
}

static void sqlite_visit_objects(struct store *store, object_visitor visit, void *context)
{
    struct sqlite_store *s = sqlite_store_of(store);
    ASSERT(!s->started);
    sqlite3_stmt *q =
        sql_prepare(&s->apply.sql, "SELECT kind,id,document FROM object WHERE kind<>?");
    sql_bind_int(q, 1, OBJECT_AUDIT);
    while (sql_row(&s->apply.sql, q)) {
        enum object_kind kind = (enum object_kind)sql_int(q, 0);
        if (memtable_object(s->view.active, kind, sql_str(q, 1)) < 0)
            visit(context, kind, sql_str(q, 1), sql_str(q, 2));
    }
    sql_finalize(q);
    ASSERT(!sql_failed(&s->apply.sql));
    const struct memtable *m = s->view.active;
    for (size_t i = 0; i < m->object_count; i++) {
        const struct mem_object *o = &m->objects[i];
        bool last = true;
        for (size_t later = i + 1; last && later < m->object_count; later++)
            last = m->objects[later].kind != o->kind || !str_eq(m->objects[later].id, o->id);
        if (last && o->document.p && o->kind != OBJECT_AUDIT)
            visit(context, o->kind, o->id, o->document);
    }
}

/* Adds lanes whose callbacks are only in the recovered memtable. */
static size_t add_memtable_lanes(const struct memtable *m, struct lane_backlog **lanes,
                                 size_t count, size_t capacity)
{
    size_t stored = count;
    for (size_t i = 0; m->by_lane.slots && i <= m->by_lane.mask; i++) {
        const struct idmap_slot *slot = &m->by_lane.slots[i];
        const struct mem_lane *waiting = slot->key ? &m->lanes[slot->value] : NULL;
        if (!waiting || waiting->count == 0)
            continue;
        size_t at = 0;
        while (at < stored && (*lanes)[at].lane != slot->key)
            at++;
        if (at == stored) {
            *ARRAY_PUSH(*lanes, count, capacity) =
                (struct lane_backlog){slot->key, waiting->least_due_ms};
        } else if (waiting->least_due_ms < (*lanes)[at].next_due_ms) {
            (*lanes)[at].next_due_ms = waiting->least_due_ms;
        }
    }
    return count;
}

/* Jumps from lane to lane: one step for each lane, whatever the number of callbacks. */
static size_t sqlite_backlog(struct store *store, struct lane_backlog **ret_lanes)
{
    struct sqlite_store *s = sqlite_store_of(store);
    ASSERT(!s->started);
    sqlite3_stmt *q = sql_prepare(
        &s->apply.sql, "SELECT lane,due_ms FROM due WHERE lane>? ORDER BY lane,due_ms LIMIT 1");
    struct lane_backlog *lanes = NULL;
    size_t count = 0, capacity = 0;
    int64_t last = -1;
    for (;;) {
        sql_bind_int(q, 1, last);
        if (!sql_row(&s->apply.sql, q))
            break;
        last = sql_int(q, 0);
        *ARRAY_PUSH(lanes, count, capacity) = (struct lane_backlog){(lane_no)last, sql_int(q, 1)};
        sql_reset(q);
    }
    sql_finalize(q);
    ASSERT(!sql_failed(&s->apply.sql));
    count = add_memtable_lanes(s->view.active, &lanes, count, capacity);
    *ret_lanes = lanes;
    return count;
}

/* --- start and stop --------------------------------------------------------------------------- */

void store_thread_begin(const char *name, int nicer)
{
    pthread_setname_np(pthread_self(), name);
    id_t self = (id_t)gettid();
    if (nicer > 0)
        (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + nicer);
}

/* In the order of stopping: threads that write first. */
static void list_threads(struct sqlite_store *s)
{
    struct store_thread *t = s->threads;
    *t++ = (struct store_thread){&s->to_writer, writer_main, s, 0};
    *t++ = (struct store_thread){&s->to_applier, applier_main, s, 0};
    *t++ = (struct store_thread){&s->to_pages, pages_main, s, 0};
    for (size_t i = 0; i < READERS; i++)
        *t++ = (struct store_thread){&s->to_reads, reader_main, &s->readers[i], 0};
    for (size_t i = 0; i < READERS; i++)
        *t++ = (struct store_thread){&s->to_scans, reader_main, &s->scanners[i], 0};
    ASSERT(t == s->threads + SQLITE_THREADS);
}

static void sqlite_start(struct store *store, struct owed_sink *sink)
{
    struct sqlite_store *s = sqlite_store_of(store);
    ASSERT(!s->started);
    s->sink = sink;
    s->started = true;
    list_threads(s);
    store_threads_start(s->threads, SQLITE_THREADS);
    scrub_start(s->scrub);
}

static void for_each_queue(struct sqlite_store *s, void (*visit)(struct queue *q))
{
    struct queue *const all[] = {&s->to_writer, &s->to_applier, &s->to_pages,
                                 &s->to_reads,  &s->to_scans,   &s->nap};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        visit(all[i]);
}

static void free_store(struct sqlite_store *s)
{
    if (s->journal)
        journal_close(s->journal);
    view_close(&s->view);
    apply_close(&s->apply);
    lookup_close(&s->pages);
    for (size_t i = 0; i < READERS; i++) {
        lookup_close(&s->readers[i].lookup);
        lookup_close(&s->scanners[i].lookup);
    }
    scrub_free(s->scrub);
    buf_free(&s->writer.group);
    buf_free(&s->writer.body);
    arena_free(&s->writer.scratch);
    for_each_queue(s, queue_destroy);
    if (s->held.folder.fd >= 0)
        close(s->held.folder.fd);
    free(s->directory);
    free(s->database);
    free(s->journal_directory);
    s->magic = s->store.magic = 0;
    free(s);
}

static void sqlite_stopping(struct store *store)
{
    struct sqlite_store *s = sqlite_store_of(store);
    atomic_store(&s->reads_until_mono_ms, env_mono_ms(s->env) + STOP_PATIENCE_MS);
    queue_post(&s->to_writer, request_new(REQUEST_LEAVE, NULL));
}

static void sqlite_close(struct store *store)
{
    struct sqlite_store *s = sqlite_store_of(store);
    if (s->started) {
        atomic_store(&s->closing, true);
        scrub_stop(s->scrub);
        store_threads_stop(s->threads, SQLITE_THREADS);
        if (!atomic_load(&s->store.failed) && applier_checkpoint(s, true))
            scrub_note_clean(s->scrub);
    }
    free_store(s);
}

static const struct store_ops sqlite_ops = {
    .request = sqlite_request,
    .judge = admission_judge,
    .look = sqlite_look,
    .numbers = sqlite_numbers,
    .set_bounds = sqlite_set_bounds,
    .hash_secret = sqlite_hash_secret,
    .visit_objects = sqlite_visit_objects,
    .backlog = sqlite_backlog,
    .start = sqlite_start,
    .stopping = sqlite_stopping,
    .close = sqlite_close,
};

struct store *sqlite_store_open(const struct sqlite_store_options *options, char **ret_why)
{
    struct sqlite_store *s = xcalloc(1, sizeof *s);
    s->store = (struct store){.magic = STORE_MAGIC, .ops = &sqlite_ops};
    s->magic = SQLITE_STORE_MAGIC;
    s->env = options->env;
    s->disk = options->disk;
    retention_share(&s->retention, &options->retention);
    s->segment_bytes = LIMIT_JOURNAL_SEGMENT_BYTES;
    if (options->journal_segment_bytes)
        s->segment_bytes = options->journal_segment_bytes;
    s->group_bytes = options->group_bytes ? options->group_bytes : LIMIT_GROUP_BYTES;
    s->memtable_bytes = options->memtable_bytes ? options->memtable_bytes : LIMIT_MEMTABLE_BYTES;
    atomic_init(&s->admission.reserve_bytes, options->disk_reserve_bytes);
    s->admission.journal_most_bytes =
        options->journal_most_bytes ? options->journal_most_bytes : LIMIT_JOURNAL_BYTES;
    store_set_waiting_most(&s->store, options->waiting_most);
    s->checkpoint_pages = CHECKPOINT_PAGES;
    if (options->checkpoint_pages)
        s->checkpoint_pages = options->checkpoint_pages;
    s->held.folder.fd = -1;
    s->directory = xstrdup(options->directory);
    s->database = xprintf("%s/postbackd.db", options->directory);
    s->journal_directory = xprintf("%s/journal", options->directory);
    for_each_queue(s, queue_init);
    if (!recover_open(s, ret_why)) {
        free_store(s);
        return NULL;
    }
    for (size_t i = 0; i < READERS; i++) {
        s->readers[i].store = s->scanners[i].store = s;
        s->readers[i].number = s->scanners[i].number = i;
        s->scanners[i].is_scans = true;
        reader_configure(&s->readers[i]);
        reader_configure(&s->scanners[i]);
    }
    s->scrub = scrub_new(s, options->scrub_interval_ms);
    applier_publish_numbers(s);
    admission_measure(s);
    return &s->store;
}
