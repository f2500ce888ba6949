/* The inbox of a dispatcher: callbacks that the store hands over, and notes from other threads. A
 * task is posted to the loop only when something is put into an empty inbox, so that a burst causes
 * one wake-up. */
#include "delivery/dispatcher.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static void lock(struct inbox *in)
{
    ASSERT(pthread_mutex_lock(&in->lock) == 0);
}

static void unlock(struct inbox *in)
{
    ASSERT(pthread_mutex_unlock(&in->lock) == 0);
}

/* The caller holds the lock. True: the caller has to post the task. */
static bool announce(struct inbox *in)
{
    bool post = !in->posted;
    in->posted = true;
    return post;
}

/* The caller holds the lock. */
static void add_note(struct inbox *in, const struct note *note)
{
    *ARRAY_PUSH(in->notes, in->note_count, in->note_capacity) = *note;
}

/* The caller holds the lock. Drops the callback and leaves a note for its lane to page it; one note
 * for several in a row. */
static void drop(struct inbox *in, struct callback *c)
{
    struct note note = {
        .kind = NOTE_WAITING, .number = lane_of(c->app_no, c->lane), .due_ms = c->place.due_ms};
    struct note *last = in->note_count ? &in->notes[in->note_count - 1] : NULL;
    callback_free(c);
    if (!last || last->kind != NOTE_WAITING || last->number != note.number)
        add_note(in, &note);
    else if (note.due_ms < last->due_ms)
        last->due_ms = note.due_ms;
}

void dispatcher_hand(struct dispatcher *d, struct callback **callbacks, size_t count)
{
    struct inbox *in = &d->inbox;
    lock(in);
    if (in->closed) {
        unlock(in);
        for (size_t i = 0; i < count; i++)
            callback_free(callbacks[i]);
        return;
    }
    in->callbacks =
        xgrow(in->callbacks, &in->capacity, in->count + count, sizeof(struct callback *));
    for (size_t i = 0; i < count; i++) {
        if (in->bytes >= in->most_bytes) {
            drop(in, callbacks[i]);
            continue;
        }
        in->bytes += callbacks[i]->bytes;
        in->callbacks[in->count++] = callbacks[i];
    }
    /* Posted under the lock, so that closing the inbox waits for it; posting never blocks. */
    if (announce(in))
        executor_post(d->runtime->executor, &in->task);
    unlock(in);
}

void dispatcher_tell(struct dispatcher *d, struct note note)
{
    struct inbox *in = &d->inbox;
    lock(in);
    if (!in->closed) {
        add_note(in, &note);
        if (note.kind == NOTE_ERASED)
            atomic_store(&in->has_erasure, true);
        if (announce(in))
            executor_post(d->runtime->executor, &in->task);
    }
    unlock(in);
}

static void take_callbacks(struct dispatcher *d, struct callback **callbacks, size_t count)
{
    struct lane_now now = dispatcher_now(d);
    for (size_t i = 0; i < count; i++) {
        struct callback *c = callbacks[i];
        struct lane *lane = dispatcher_lane(d, lane_of(c->app_no, c->lane));
        /* the lane's owner pages it; when stopping, it is found after the restart */
        if (!lane || d->stopping) {
            callback_free(c);
            continue;
        }
        /* It was accepted, or released by its original, with a date from before the clock was put
         * back. */
        int64_t late_ms = dispatcher_late_ms(d, lane, &c->place, &now);
        if (late_ms > 0)
            lane_note_late(lane, late_ms, &now);
        lane_offer(lane, c, dispatcher_room(d, lane), &now);
        dispatcher_touch(d, lane);
    }
}

static void touch_app(struct dispatcher *d, uint32_t app_no)
{
    for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++) {
        struct lane *lane = dispatcher_find(d, lane_of(app_no, (enum lane_kind)kind));
        if (lane)
            dispatcher_refresh(d, lane);
    }
}

static void settle_gone(struct dispatcher *d, lane_no no)
{
    struct lane *lane = dispatcher_find(d, no);
    if (!lane)
        return;
    lane_settle_gone(lane);
    dispatcher_refresh(d, lane);
}

static void take_note(struct dispatcher *d, const struct note *note)
{
    struct lane *lane;
    switch (note->kind) {
    case NOTE_WAITING:
        lane = dispatcher_lane(d, note->number);
        if (lane) {
            struct lane_now now = dispatcher_now(d);
            lane_note_waiting(lane, note->due_ms);
            dispatcher_suspect_dates(d, lane);
            if (note->late_ms > 0)
                lane_note_late(lane, note->late_ms, &now);
            dispatcher_touch(d, lane);
        }
        break;
    case NOTE_APP: touch_app(d, (uint32_t)note->number); break;
    case NOTE_GONE_SETTLED: settle_gone(d, note->number); break;
    case NOTE_LEASES: dispatcher_watch_leases(d); break;
    case NOTE_ERASED: dispatcher_reread(d, (uint32_t)note->number, note->mono_ms); break;
    case NOTE_STOP: d->stopping = true; break;
    }
}

static void run(struct task *task)
{
    struct inbox *in = CONTAINER_OF(task, struct inbox, task);
    struct dispatcher *d = CONTAINER_OF(in, struct dispatcher, inbox);
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    lock(in);
    struct callback **callbacks = in->callbacks;
    size_t count = in->count;
    struct note *notes = in->notes;
    size_t note_count = in->note_count;
    in->callbacks = NULL;
    in->notes = NULL;
    in->count = in->capacity = in->note_count = in->note_capacity = in->bytes = 0;
    in->posted = false;
    atomic_store(&in->has_erasure, false);
    unlock(in);
    take_callbacks(d, callbacks, count);
    for (size_t i = 0; i < note_count; i++)
        take_note(d, &notes[i]);
    free(callbacks);
    free(notes);
}

void dispatcher_open_inbox(struct dispatcher *d)
{
    ASSERT(pthread_mutex_init(&d->inbox.lock, NULL) == 0);
    d->inbox.task.run = run;
}

void dispatcher_close_inbox(struct dispatcher *d)
{
    struct inbox *in = &d->inbox;
    lock(in);
    in->closed = true;
    struct callback **callbacks = in->callbacks;
    size_t count = in->count;
    in->callbacks = NULL;
    in->count = in->capacity = 0;
    free(in->notes);
    in->notes = NULL;
    in->note_count = in->note_capacity = 0;
    unlock(in);
    for (size_t i = 0; i < count; i++)
        callback_free(callbacks[i]);
    free(callbacks);
}
