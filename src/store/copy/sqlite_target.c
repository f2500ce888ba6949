/* Fills a SQLite store: a file beside the one that a daemon would open, linked to that name at the
 * end. Events go in as memtables, by the code that applies every event (apply.h), so that
 * everything derived from them (segments, sets, waiting callbacks, the cap) is made as usual. Then
 * the sums of reports and the books replace the derived ones. */
#include "store/copy/sides.h"

#include "base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/sqlite/apply.h"
#include "store/sqlite/apply_books.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/panelists.h"
#include "store/sqlite/report_row.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_directory.h"

/* Events in a memtable, to share the cost of a transaction. */
#define MEMTABLE_EVENTS 16384

#define META_POSITION "copy_position"
#define META_MARK "copy_mark"

struct sqlite_target {
    struct copy_target target;
    int lock;
    char *directory, *database, *part;
    struct apply apply; /* writes to `part` */
    int64_t last_accepted_ms;
    int32_t final_late_day;    /* the last one of the memtable's events; 0: none */
    struct memtable *memtable; /* being filled; may be NULL */
    size_t *erased;            /* indices into its events */
    size_t erased_count, erased_capacity;
    const struct copy_position *next; /* the position after the rows being written */
};

static struct sqlite_target *self_of(struct copy_target *t)
{
    return CONTAINER_OF(t, struct sqlite_target, target);
}

static bool failed(struct sqlite_target *t)
{
    if (t->target.why.n == 0)
        buf_printf(&t->target.why, "%s: %s", t->part,
                   t->apply.sql.why ? t->apply.sql.why : strerror(errno));
    (void)buf_c(&t->target.why);
    return false;
}

static void set_position(struct sqlite_target *t)
{
    struct buf text = {0};
    copy_position_print(t->next, &text);
    meta_set_bytes(&t->apply.sql, META_POSITION, buf_str(&text));
    buf_free(&text);
}

/* --- objects and events -------------------------------------------------------------------------
 */

/* An erased event has no body in a segment, no panelist in the search, and no payment in the
 * cap. */
static void forget_panelist(struct apply *a, const struct event *e)
{
    uint64_t id = event_id_of(e->account_no, e->event_no);
    int64_t hash = (int64_t)panelist_key(&a->secret, e->account_no, e->panelist_id).hi;
    sql_exec_f(&a->sql, "UPDATE event SET segment=0 WHERE id=%" PRIu64, id);
    struct panelist_query it = {a->segment.no, (uint64_t)hash, {id, id}, false};
    panelist_forget(&a->sql, &it);
    sql_exec_f(&a->sql,
               "DELETE FROM cap WHERE app_no=%u AND panelist_hash=%" PRId64
               " AND occurred_ms=%" PRId64 " AND id=%" PRIu64,
               e->app_no, hash, e->occurred_ms, id);
}

/* Runs before the commit of a memtable. */
static void end_memtable(struct apply *a, void *context)
{
    struct sqlite_target *t = context;
    for (size_t i = 0; i < t->erased_count; i++)
        forget_panelist(a, &a->m->events[t->erased[i]]);
    if (t->final_late_day != 0)
        apply_note_final_late(a, a->segment.no, t->final_late_day);
    apply_write_final_late(a);
    set_position(t);
}

static bool add_event(struct sqlite_target *t, struct memtable *m, const struct copied_event *from)
{
    const struct event *e = &from->event;
    if (e->account_no > ACCOUNT_NO_LAST || e->event_no > EVENT_NO_LAST) {
        buf_printf(&t->target.why, "SQLite has no room for event %llu of account %u",
                   (unsigned long long)e->event_no, e->account_no);
        return false;
    }
    memtable_add_event(m, e, &from->life,
                       panelist_key(&t->apply.secret, e->account_no, e->panelist_id).hi);
    struct mem_entry *entry = memtable_entry(m, event_id_of(e->account_no, e->event_no));
    entry->counted = from->counted;
    for (size_t i = 0; i < from->log_count; i++)
        memtable_add_attempt(m, entry->id, lane_of(e->app_no, e->lane), &from->log[i]);
    if (e->accepted_ms > t->last_accepted_ms)
        t->last_accepted_ms = e->accepted_ms;
    if (e->body.p && from->final_late_day > t->final_late_day)
        t->final_late_day = from->final_late_day;
    if (!from->erased)
        return true;
    *ARRAY_PUSH(t->erased, t->erased_count, t->erased_capacity) = (size_t)entry->event;
    return true;
}

static bool apply(struct sqlite_target *t)
{
    t->memtable->last_accepted_ms = t->last_accepted_ms;
    bool good = apply_memtable(&t->apply, t->memtable);
    memtable_free(t->memtable);
    t->memtable = NULL;
    t->erased_count = 0;
    t->final_late_day = 0;
    /* Otherwise the WAL would grow as large as the store. */
    return good && checkpoint_run(&t->apply.sql, false) != CHECKPOINT_FAILED;
}

/* Applies the memtable when it is full, and at the end of its section. */
static bool write_memtable(struct sqlite_target *t, const struct copy_chunk *c)
{
    if (!t->memtable)
        t->memtable = memtable_new(t->apply.generation + 1);
    struct memtable *m = t->memtable;
    for (size_t i = 0; c->section == COPY_OBJECTS && i < c->count; i++)
        memtable_add_object(m, c->objects[i].kind, c->objects[i].id, c->objects[i].document);
    for (size_t i = 0; c->section == COPY_EVENTS && i < c->count; i++)
        if (!add_event(t, m, &c->events[i]))
            return false;
    bool full = m->event_count >= MEMTABLE_EVENTS || m->object_count >= MEMTABLE_EVENTS;
    return (!full && c->count > 0) || apply(t);
}

/* --- reports and books -------------------------------------------------------------------------
 */

static void write_reports(struct sqlite_target *t, const struct copy_chunk *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct copied_report *r = &c->reports[i];
        sqlite3_stmt *s = t->apply.reports.set;
        sql_bind_int(s, 1, r->account_no);
        sql_bind_int(s, 2, r->day);
        sql_bind_int(s, 3, r->client_no);
        report_sums_bind(s, &r->sums);
        sql_run(&t->apply.sql, s);
    }
}

static void write_books(struct sqlite_target *t, const struct copy_chunk *c)
{
    for (size_t i = 0; i < c->count; i++)
        books_add_sums(&t->apply.sql, t->apply.ledger.add, &c->books[i].key, c->books[i].state,
                       &c->books[i].sums);
}

/* The first chunk replaces the sums that were derived from the events. */
static bool write_sums(struct sqlite_target *t, const struct copy_chunk *c)
{
    struct sql *q = &t->apply.sql;
    bool first = t->target.at.n[0] == 0;
    sql_exec(q, "BEGIN IMMEDIATE");
    if (first)
        sql_exec(q, c->section == COPY_REPORTS ? "DELETE FROM report" : "DELETE FROM book");
    if (c->section == COPY_REPORTS)
        write_reports(t, c);
    else
        write_books(t, c);
    set_position(t);
    sql_exec(q, "COMMIT");
    return !sql_failed(q);
}

static bool write_chunk(struct copy_target *target, struct copy_chunk *c)
{
    struct sqlite_target *t = self_of(target);
    struct copy_position next = c->end;
    if (c->count == 0)
        next = (struct copy_position){.section = c->section + 1};
    t->next = &next;
    bool good = c->section == COPY_OBJECTS || c->section == COPY_EVENTS ? write_memtable(t, c)
                                                                        : write_sums(t, c);
    target->at = next;
    return good || failed(t);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct copy_source *reread(struct copy_target *target, char **ret_why)
{
    return copy_sqlite_source_of_file(self_of(target)->part, ret_why);
}

/* Makes the part one durable file under the name that a daemon opens. */
static bool finish(struct copy_target *target)
{
    struct sqlite_target *t = self_of(target);
    struct sql *q = &t->apply.sql;
    struct disk *disk = disk_real();
    sql_exec(q, "DELETE FROM meta WHERE name IN('" META_POSITION "','" META_MARK "')");
    apply_drop_cached(&t->apply);
    sql_set_journal_mode(q, "delete");
    if (sql_failed(q))
        return failed(t);
    apply_close(&t->apply);
    int fd = disk->open(disk, t->part, false, false);
    int code = fd < 0 ? fd : disk->sync_file(disk, fd);
    if (fd >= 0)
        disk->close(disk, fd);
    /* link, not rename: link refuses a file that was made meanwhile */
    if (code == 0 && link(t->part, t->database) != 0)
        code = -errno;
    if (code == 0 && unlink(t->part) != 0)
        code = -errno;
    if (code == 0)
        code = disk->sync_directory(disk, t->directory);
    if (code != 0)
        buf_printf(&t->target.why, "%s cannot be made: %s", t->database, strerror(-code));
    return code == 0;
}

static void close_target(struct copy_target *target)
{
    struct sqlite_target *t = self_of(target);
    memtable_free(t->memtable);
    free(t->erased);
    apply_close(&t->apply);
    if (t->lock >= 0)
        close(t->lock);
    buf_free(&t->target.why);
    free(t->directory);
    free(t->database);
    free(t->part);
    free(t);
}

static const struct copy_target_ops ops = {write_chunk, reread, finish, close_target};

/* Goes on with the copy that is in the part, or begins a new one. */
static bool take_up(struct sqlite_target *t, const struct copy_source *from, struct str mark)
{
    struct sql *q = &t->apply.sql;
    sqlite3_stmt *s, *marked;
    struct buf *why = &t->target.why;
    struct copy_position start = {.section = COPY_OBJECTS};
    struct str position = meta_get_bytes(q, META_POSITION, &s),
               was = meta_get_bytes(q, META_MARK, &marked);
    struct hash_secret secret = {0};
    meta_get_secret(q, &secret);
    if (position.p && !hash_secret_eq(&secret, &from->secret))
        buf_printf(why, "%s is a part of a copy of another store: remove it", t->part);
    else if (position.p && !str_eq(was, mark))
        buf_printf(why,
                   "the source has been in use since this copy began: remove %s, and begin"
                   " anew",
                   t->part);
    else if (position.p && !copy_position_parse(position, &t->target.at))
        buf_printf(why, "%s was begun by another version: remove it", t->part);
    t->target.went_on = position.p != NULL;
    sql_finalize(s);
    sql_finalize(marked);
    if (why->n > 0 || t->target.went_on)
        return why->n == 0 && !sql_failed(q);
    t->target.at = start;
    t->next = &start;
    sql_exec(q, "BEGIN IMMEDIATE");
    meta_set_bytes(q, "hash_secret",
                   (struct str){(const char *)from->secret.bytes, sizeof from->secret.bytes});
    meta_set_bytes(q, META_MARK, mark);
    set_position(t);
    sql_exec(q, "COMMIT");
    return !sql_failed(q);
}

static bool open_part(struct sqlite_target *t, const struct copy_source *from, struct str mark,
                      char **ret_why)
{
    struct sql *q = &t->apply.sql;
    if (!sql_open(q, t->part, NULL, true, ret_why))
        return false;
    schema_configure(q, true, SCHEMA_CACHE_KIB_WRITER);
    if (!migrate(q, &schema_migration, ret_why))
        return false;
    if (!take_up(t, from, mark)) {
        (void)failed(t);
        *ret_why = xstrdup(buf_c(&t->target.why));
        return false;
    }
    apply_open(&t->apply);
    t->apply.ending = end_memtable;
    t->apply.ending_context = t;
    t->last_accepted_ms = meta_get_int(q, "last_accepted_ms", 0);
    t->target.events_before = t->apply.counters.accepted;
    return true;
}

struct copy_target *copy_sqlite_target(const char *directory, const struct copy_source *from,
                                       struct str mark, char **ret_why)
{
    struct sqlite_target *t = xcalloc(1, sizeof *t);
    t->target.ops = &ops;
    t->lock = -1;
    t->directory = xstrdup(directory);
    t->database = xprintf("%s/postbackd.db", directory);
    t->part = xprintf("%s/postbackd.db.part", directory);
    char *journal = xprintf("%s/journal", directory);
    bool good = store_directory_lock(disk_real(), directory, &t->lock, ret_why);
    if (good && (access(t->database, F_OK) == 0 || access(journal, F_OK) == 0)) {
        struct buf why = {0};
        buf_printf(&why, "%s has a store in it already: copy into an empty directory", directory);
        *ret_why = xstrdup(buf_c(&why));
        buf_free(&why);
        good = false;
    }
    free(journal);
    if (good && open_part(t, from, mark, ret_why))
        return &t->target;
    close_target(&t->target);
    return NULL;
}
