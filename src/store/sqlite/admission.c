/* Whether events can be accepted: they are refused early, before a full resource breaks anything.
 * The decision uses counters that change with each batch, and the last look at the disk:
 * admission_measure looks a few times a second, on a thread that may block (store_look, or the
 * applier). Outcomes, account changes and erasures are accepted even then, because they
 * are few or free more space than they use: the disk reserve is kept for them. Only while the
 * store's directory is away everything but outcomes is refused. */
#include "store/sqlite/admission.h"

#include "base/log.h"
#include "store/sqlite/sqlite_store.h"

#include <stdlib.h>

#define LOOK_EVERY_MS 250
#define STUCK_MS 3000
#define RESERVE_BYTES (INT64_C(256) << 20)
#define RESERVE_SHARE 10 /* of the file system, if that is less */

/* Events are accepted again when the free space exceeds the reserve by an eighth. */
static bool disk_is_low(int64_t free_bytes, int64_t reserve_bytes, bool was_low)
{
    return free_bytes < reserve_bytes + (was_low ? reserve_bytes / 8 : 0);
}

static void look_at_disk(struct sqlite_store *s)
{
    struct admission *b = &s->admission;
    int64_t free_bytes, total_bytes;
    if (!s->disk->space || s->disk->space(s->disk, s->directory, &free_bytes, &total_bytes) != 0)
        return;
    int64_t reserve = atomic_load(&b->reserve_bytes);
    if (reserve == 0)
        reserve = total_bytes / RESERVE_SHARE < RESERVE_BYTES ? total_bytes / RESERVE_SHARE
                                                              : RESERVE_BYTES;
    bool was_low = atomic_load(&b->disk_low);
    bool low = disk_is_low(free_bytes, reserve, was_low);
    atomic_store(&b->free_bytes, free_bytes);
    atomic_store(&b->reserve_now_bytes, reserve);
    if (atomic_exchange(&b->disk_low, low) == low)
        return;
    if (low)
        log_warning("disk_reserve_reached", LOG_INT("free_bytes", free_bytes),
                    LOG_INT("reserve_bytes", reserve),
                    LOG_C("effect", "events are refused; callbacks go on"),
                    LOG_C("fix", "give the store's file system more room"));
    else
        log_info("disk_reserve_free_again", LOG_INT("free_bytes", free_bytes));
}

static void look_at_directory(struct sqlite_store *s)
{
    if (!s->disk->folder)
        return;
    char *why = NULL;
    enum directory_state state = store_directory_look(&s->held, s->journal, &why);
    bool away = state != DIRECTORY_IN_PLACE;
    if (atomic_exchange(&s->admission.directory_away, away) != away) {
        if (away)
            log_error("store_directory_away", LOG_C("why", why),
                      LOG_C("effect", "nothing new is taken; callbacks go on"),
                      LOG_C("fix", "move it back; docs/operators/scrub.md says more"));
        else
            log_info("store_directory_back");
    }
    if (state == DIRECTORY_TAKEN_OVER)
        store_fail(&s->store, why);
    free(why);
}

void admission_measure(struct sqlite_store *s)
{
    struct admission *b = &s->admission;
    long long now = env_mono_ms(s->env), next = atomic_load(&b->next_look_mono_ms);
    if (now < next ||
        !atomic_compare_exchange_strong(&b->next_look_mono_ms, &next, now + LOOK_EVERY_MS))
        return;
    look_at_disk(s);
    look_at_directory(s);
}

bool admission_has_room(struct sqlite_store *s, int64_t bytes)
{
    struct admission *b = &s->admission;
    admission_measure(s);
    int64_t reserve = atomic_load(&b->reserve_now_bytes);
    bool knows_room = reserve > 0; /* the file system has told */
    return !atomic_load(&b->disk_low) && !atomic_load(&s->numbers.blocked) &&
           (!knows_room || atomic_load(&b->free_bytes) - bytes >= reserve);
}

/* The writer notices a lack of room only when it asks for room, so its result counts for a
 * while. */
static bool journal_is_stuck(struct sqlite_store *s)
{
    long long at = atomic_load(&s->admission.journal_stuck_mono_ms);
    return at != 0 && env_mono_ms(s->env) - at < STUCK_MS;
}

enum store_refusal admission_judge(struct store *store, const struct intake_batch *submitted)
{
    struct sqlite_store *s = sqlite_store_of(store);
    const struct numbers *n = &s->numbers;
    const struct admission *b = &s->admission;
    long long memtable = atomic_load(&n->memtable_events);
    bool full = store_queue_is_full(store, submitted);
    if (atomic_load(&store->failed))
        return STORE_REFUSES_FAILED;
    if (atomic_load(&b->directory_away))
        return STORE_REFUSES_DIRECTORY;
    /* while the database is blocked, the memtables still accept events until the queue is full */
    if (atomic_load(&n->blocked) && (full || !submitted))
        return STORE_REFUSES_DATABASE;
    if (atomic_load(&b->disk_low))
        return STORE_REFUSES_DISK;
    if ((int64_t)journal_live_bytes(s->journal) > b->journal_most_bytes ||
        (!submitted && journal_is_stuck(s)))
        return STORE_REFUSES_JOURNAL;
    if (atomic_load(&n->pending) + memtable > atomic_load(&store->waiting_most))
        return STORE_REFUSES_WAITING;
    return full ? STORE_REFUSES_QUEUE : STORE_TAKES;
}

bool admission_refuses_change(const struct sqlite_store *s, const struct request *r)
{
    return atomic_load(&s->admission.directory_away) && r->decided == 0 &&
           request_work(r->kind) == WORK_CHANGE;
}
