/* Whether events can be taken: refused while that is harmless, before a bound breaks anything.
 *
 * What is judged is what was measured last: counters that move with each batch, and the disk and
 * the journal, which bounds_look measures a few times a second on the thread that asks for the
 * store's numbers. Outcomes, changes of accounts and erasures are always taken: they free more
 * than they use, or are few; the reserve is there for them. */
#include "store/sqlite/sqlite_store.h"

#include "base/log.h"

#define LOOK_EVERY_MS 250
#define STUCK_MS 3000
#define RESERVE_BYTES (INT64_C(256) << 20)
#define RESERVE_SHARE 10 /* of the file system, where that is less */

/* What is free must pass the reserve by an eighth before events are taken again. */
static bool disk_is_low(int64_t free_bytes, int64_t reserve_bytes, bool was_low)
{
    return free_bytes < reserve_bytes + (was_low ? reserve_bytes / 8 : 0);
}

static void look_at_disk(struct sqlite_store *s)
{
    struct bounds *b = &s->bounds;
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

void bounds_look(struct sqlite_store *s)
{
    struct bounds *b = &s->bounds;
    long long now = env_mono_ms(s->env), next = atomic_load(&b->next_look_mono_ms);
    if (now < next ||
        !atomic_compare_exchange_strong(&b->next_look_mono_ms, &next, now + LOOK_EVERY_MS))
        return;
    look_at_disk(s);
    atomic_store(&b->journal_bytes, (long long)journal_live_bytes(s->journal));
}

/* The writer finds out only when it is asked for room: what it found is believed for a while. */
static bool journal_is_stuck(struct sqlite_store *s)
{
    long long at = atomic_load(&s->bounds.journal_stuck_mono_ms);
    return at != 0 && env_mono_ms(s->env) - at < STUCK_MS;
}

/* One request alone is taken whatever its size: it could never be otherwise. */
static bool queue_is_full(const struct sqlite_store *s, const struct intake_batch *submitted)
{
    long long queued = atomic_load(&s->numbers.queued_bytes);
    return queued > LIMIT_STORE_QUEUED_BYTES &&
           (!submitted || queued > (long long)submitted->bytes);
}

enum store_refusal bounds_judge(struct sqlite_store *s, const struct intake_batch *submitted)
{
    const struct numbers *n = &s->numbers;
    const struct bounds *b = &s->bounds;
    long long memtable = atomic_load(&n->memtable_events);
    bool full = queue_is_full(s, submitted);
    if (atomic_load(&n->failed))
        return STORE_REFUSES_FAILED;
    /* While the database is blocked, what the memtables can hold is taken all the same. */
    if (atomic_load(&n->blocked) && (full || !submitted))
        return STORE_REFUSES_DATABASE;
    if (atomic_load(&b->disk_low))
        return STORE_REFUSES_DISK;
    if (atomic_load(&b->journal_bytes) > b->journal_most_bytes ||
        (!submitted && journal_is_stuck(s)))
        return STORE_REFUSES_JOURNAL;
    if (atomic_load(&n->pending) + memtable > atomic_load(&b->waiting_most))
        return STORE_REFUSES_WAITING;
    return full ? STORE_REFUSES_QUEUE : STORE_TAKES;
}

void bounds_count(struct sqlite_store *s, enum store_refusal refusal)
{
    atomic_fetch_add(&s->bounds.refused[refusal], 1);
}
