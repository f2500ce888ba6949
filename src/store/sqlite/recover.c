/* Opens a store: locks the directory, opens the database, migrates it, then replays the journal
 * from SQLite's position on. The replayed records become the active memtable, which the applier
 * applies after the start as usual, so that a daemon that was killed under full load delivers
 * again within moments. After a kill there are at most two memtables and a group to replay.
 * Memtables are applied during the start only after a power cut that took SQLite further back, and
 * where the journal has an erasure. */
#include "store/sqlite/sqlite_store.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

#include "store/sqlite/checkpoint.h"
#include "store/sqlite/recover.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_identity.h"

/* Room for what a kill leaves. */
#define RECOVERED_BYTES (3 * LIMIT_MEMTABLE_BYTES)
_Static_assert(RECOVERED_BYTES <
                   4 * LIMIT_MEMTABLE_EVENTS * (sizeof(struct event) + sizeof(struct mem_entry)),
               "its keys fit into one segment: key_sets.c");

/* --- replaying -------------------------------------------------------------------------------- */

struct replay {
    struct view *view; /* only `active` and look-ups in the same database are used */
    struct apply *apply;
    size_t apply_bytes; /* a memtable of this size is applied */
    char **ret_why;     /* gets the sentence of a failure (malloc'ed) */
    bool erasures_wait; /* for the applier: the disk is full */
};

static bool is_disk_full(const struct sql *q)
{
    int code = q->code != SQLITE_OK ? q->code : sqlite3_errcode(q->db);
    return (code & 0xff) == SQLITE_FULL;
}

static bool replay_apply(struct replay *r)
{
    struct memtable *m = r->view->active;
    /* its keys are not added to a loaded filter, which would then miss them */
    ASSERT(!r->view->lookup.keys.is_loaded);
    m->last_accepted_ms = r->view->last_accepted_ms;
    if (!apply_memtable(r->apply, m))
        return false;
    view_applied(r->view, m);
    r->view->active = memtable_new(m->generation + 1);
    memtable_free(m);
    return true;
}

/* An erasure ends its memtable, so that later events of the same panelist are counted as those of
 * somebody new. A full disk must not keep the daemon from starting for that: then the erasure
 * waits with all the rest, as in a running daemon, and a panelist who comes back on the day of the
 * erasure may be missing in Active Panelists. */
static bool replay_group(void *context, struct str records, struct journal_position end)
{
    struct replay *r = context;
    r->view->woken_count = 0;
    if (!view_replay(r->view, records)) {
        *r->ret_why = xprintf("the journal has a group that this postbackd cannot read"
                              " (segment %llu): use the newer program that wrote it",
                              (unsigned long long)end.segment);
        return false;
    }
    r->view->active->end = end;
    bool is_full = memtable_used_bytes(r->view->active) >= r->apply_bytes;
    if (!is_full && (r->view->active->erase_count == 0 || r->erasures_wait))
        return true;
    if (replay_apply(r))
        return true;
    if (!is_full && is_disk_full(&r->apply->sql)) {
        apply_recover(r->apply);
        r->erasures_wait = true;
        return true;
    }
    *r->ret_why = xstrdup(r->apply->sql.why);
    return false;
}

/* Applies the rest. */
static bool apply_rest(struct replay *r)
{
    if (sql_failed(&r->view->lookup.sql))
        *r->ret_why = xstrdup(r->view->lookup.sql.why);
    else if (r->view->active->operations == 0 || replay_apply(r))
        return true;
    else
        *r->ret_why = xstrdup(r->apply->sql.why);
    return false;
}

bool recover_tail(struct apply *apply, struct view *view, struct disk *disk, const char *database,
                  const char *journal_directory, char **ret_why)
{
    struct sql *q = &apply->sql;
    uint64_t id = identity_journal_id(q);
    apply_open(apply);
    apply->now_ms = env_wall_ms(env_real());
    view->secret = apply->secret;
    view->last_accepted_ms = meta_get_int(q, "last_accepted_ms", 0);
    view->active = memtable_new(apply->generation + 1);
    if (sql_failed(q)) {
        *ret_why = xprintf("%s cannot be written: %s", database, q->why);
        return false;
    }
    if (!lookup_open(&view->lookup, database, disk->sqlite_vfs, ret_why))
        return false;
    view_load(view);
    char *why = NULL, *journal_why = NULL;
    struct replay replay = {view, apply, LIMIT_MEMTABLE_BYTES, &why, false};
    if (journal_read(disk, journal_directory, id, meta_get_position(q), replay_group, &replay,
                     &journal_why) &&
        apply_rest(&replay))
        return true;
    *ret_why = why ? why : journal_why;
    if (why)
        free(journal_why);
    return false;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The journal contains hashes under the secret, and the id, so both must be durable before the
 * journal exists. A commit is not durable here (synchronous=NORMAL), a checkpoint is. If the
 * position is past zero, this was done in an earlier start. */
static bool settle_identity(struct sqlite_store *s, char **ret_why)
{
    struct sql *q = &s->apply.sql;
    struct hash_secret fresh;
    uint64_t fresh_id;
    env_random(s->env, fresh.bytes, sizeof fresh.bytes);
    env_random(s->env, &fresh_id, sizeof fresh_id);
    meta_make_secret(q, &fresh);
    identity_make(q, fresh_id);
    bool needed = meta_get_position(q).segment == 0;
    if (!sql_failed(q) && (!needed || checkpoint_run(q, true) == CHECKPOINT_COMPLETE))
        return true;
    const char *partial = is_disk_full(q) ? "disk full" : "another process keeps it busy";
    *ret_why = xprintf("%s: %s", s->database, q->why ? q->why : partial);
    return false;
}

/* Makes the names of the database and its WAL durable, because SQLite ignores a failed sync of the
 * directory. */
static bool settle_names(struct sqlite_store *s, char **ret_why)
{
    int code = s->disk->sync_directory(s->disk, s->directory);
    if (code < 0)
        *ret_why = xprintf("%s cannot be synced: %s", s->directory, strerror(-code));
    return code == 0;
}

static bool open_database(struct sqlite_store *s, char **ret_why)
{
    struct sql *q = &s->apply.sql;
    const char *vfs = s->disk->sqlite_vfs;
    if (!identity_check_files(s->disk, s->database, s->journal_directory, ret_why) ||
        !sql_open(q, s->database, vfs, true, ret_why) ||
        !identity_check_journal(q, s->disk, s->journal_directory, ret_why))
        return false;
    schema_configure(q, true, SCHEMA_CACHE_KIB_WRITER);
    if (sql_failed(q)) {
        *ret_why = xprintf("%s: %s", s->database, q->why);
        return false;
    }
    if (!migrate(q, &schema_migration, ret_why) || !settle_names(s, ret_why) ||
        !settle_identity(s, ret_why))
        return false;
    apply_open(&s->apply);
    s->apply.now_ms = env_wall_ms(s->env);
    s->view.secret = s->apply.secret;
    s->view.last_accepted_ms = meta_get_int(q, "last_accepted_ms", 0);
    if (sql_failed(q)) {
        *ret_why = xstrdup(q->why);
        return false;
    }
    for (size_t i = 0; i < READERS; i++)
        if (!lookup_open(&s->readers[i].lookup, s->database, vfs, ret_why) ||
            !lookup_open(&s->scanners[i].lookup, s->database, vfs, ret_why))
            return false;
    return lookup_open(&s->view.lookup, s->database, vfs, ret_why) &&
           lookup_open(&s->pages, s->database, vfs, ret_why);
}

static void log_dropped(struct sqlite_store *s)
{
    struct journal_dropped dropped = journal_dropped(s->journal);
    if (dropped.bytes)
        log_warning("journal_tail_dropped", LOG_C("directory", s->journal_directory),
                    LOG_INT("segment", (int64_t)dropped.from.segment),
                    LOG_INT("offset", (int64_t)dropped.from.offset_bytes),
                    LOG_INT("bytes", (int64_t)dropped.bytes),
                    LOG_C("meaning", "it was being written when the process ended, and was never "
                                     "acknowledged, unless the disk has damaged it since"));
}

static bool open_journal(struct sqlite_store *s, char **ret_why)
{
    char *why = NULL;
    struct replay replay = {&s->view, &s->apply, RECOVERED_BYTES, &why, false};
    struct journal_options options = {
        .disk = s->disk,
        .directory = s->journal_directory,
        .segment_bytes = s->segment_bytes,
        .id = identity_journal_id(&s->apply.sql),
    };
    char *journal_why = NULL;
    s->journal = journal_open(&options, meta_get_position(&s->apply.sql), replay_group, &replay,
                              &journal_why);
    if (s->journal) {
        log_dropped(s);
        return true;
    }
    *ret_why = why ? why : journal_why;
    if (why)
        free(journal_why);
    return false;
}

static bool hold_directory(struct sqlite_store *s, char **ret_why)
{
    if (!store_directory_lock(s->disk, s->directory, &s->held.folder.fd, ret_why))
        return false;
    if (!s->disk->has_folders)
        return true;
    s->held.folder.path = s->directory;
    s->held_disk = *s->disk;
    s->held_disk.folder = &s->held.folder;
    s->disk = &s->held_disk;
    return true;
}

/* SQLite opens its files by their paths, so the directory is looked at once they are open. */
static bool is_in_place(struct sqlite_store *s, char **ret_why)
{
    if (!s->disk->folder)
        return true;
    store_directory_note_database(&s->held);
    return store_directory_look(&s->held, s->journal, ret_why) == DIRECTORY_IN_PLACE;
}

static bool open_all(struct sqlite_store *s, char **ret_why)
{
    if (!hold_directory(s, ret_why) || !open_database(s, ret_why))
        return false;
    s->view.active = memtable_new(s->apply.generation + 1);
    view_load(&s->view);
    if (!open_journal(s, ret_why) || !is_in_place(s, ret_why))
        return false;
    struct memtable *m = s->view.active;
    m->first_mono_ms = env_mono_ms(s->env) - LIMIT_APPLY_INTERVAL_MS; /* to be applied at once */
    m->last_accepted_ms = s->view.last_accepted_ms;
    s->writer.freeze_now = m->erase_count > 0;
    atomic_store(&s->numbers.accepted, s->apply.counters.accepted + (long long)m->event_count);
    atomic_store(&s->numbers.last_accepted_ms, s->view.last_accepted_ms);
    atomic_store(&s->numbers.memtable_events, (long long)m->event_count);
    s->writer.applied_generation = s->apply.generation;
    if (!sql_failed(&s->view.lookup.sql))
        return true;
    *ret_why = xstrdup(s->view.lookup.sql.why);
    return false;
}

bool recover_open(struct sqlite_store *s, char **ret_why)
{
    bool good = open_all(s, ret_why);
    if (!good && is_disk_full(&s->apply.sql)) {
        char *why = *ret_why;
        *ret_why = xprintf("the disk of %s is full: free some space on it, then start again (%s)",
                           s->directory, why);
        free(why);
    }
    return good;
}
