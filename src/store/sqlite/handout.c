/* Hands the callbacks that the last durable group made due to the sink, in one call. The sink may
 * drop any of them; paging finds them again. */
#include "store/sqlite/handout.h"

#include "base/alloc.h"

#include <stdlib.h>

#define RECOVERED_PER_LANE 128

struct handout {
    struct callback **items;
    size_t count, capacity;
};

static void add(struct handout *out, const struct event *e, const struct callback_life *life)
{
    *ARRAY_PUSH(out->items, out->count, out->capacity) = callback_new(e, life);
}

static void add_new_events(struct sqlite_store *s, struct handout *out)
{
    const struct memtable *m = s->view.active;
    for (size_t i = s->writer.first_event; i < m->event_count; i++) {
        const struct event *e = &m->events[i];
        if (e->state != CALLBACK_PENDING)
            continue;
        const struct mem_entry *entry = memtable_entry(m, event_id_of(e->account_no, e->event_no));
        if (entry->life.wait == WAIT_DUE && !entry->life.manual)
            add(out, e, &entry->life);
    }
}

/* Released reversals and resends. */
static void add_woken(struct sqlite_store *s, struct handout *out)
{
    for (size_t i = 0; i < s->view.woken_count; i++) {
        struct event e;
        struct callback_life life;
        if (view_event(&s->view, s->view.woken[i], &s->writer.scratch, &e, &life) &&
            life.wait == WAIT_DUE && e.body.p) {
            add(out, &e, &life);
            out->items[out->count - 1]->resend_no =
                pending_resends_no(&s->view.resends, s->view.woken[i]);
        }
    }
}

static void hand_out(struct sqlite_store *s, struct handout *out)
{
    if (out->count > 0)
        s->sink->owed(s->sink, out->items, out->count);
    out->count = 0;
}

/* Entries of the memtable to hand out after the start. */
struct recovered {
    const struct mem_entry **entries;
    size_t count, capacity;
};

/* The first due ones of each lane, except the very first, which goes into `out`. */
static struct recovered find_recovered(struct sqlite_store *s, struct handout *out)
{
    const struct memtable *m = s->view.active;
    int64_t now_ms = env_wall_ms(s->env);
    struct recovered more = {0};
    struct idmap handed = {0};
    for (size_t i = 0; i < m->entry_count; i++) {
        const struct mem_entry *entry = &m->entries[i];
        const struct event *e = memtable_event(m, entry);
        if (!e || entry->life.wait != WAIT_DUE || entry->life.place.due_ms > now_ms ||
            view_is_erased(&s->view, entry->id))
            continue;
        bool is_new = false;
        uint64_t *of_lane = idmap_put(&handed, entry->life.lane, &is_new);
        if (*of_lane >= RECOVERED_PER_LANE)
            continue;
        if ((*of_lane)++ == 0) {
            add(out, e, &entry->life);
            continue;
        }
        more.entries =
            xgrow(more.entries, &more.capacity, more.count + 1, sizeof(struct mem_entry *));
        more.entries[more.count++] = entry;
    }
    idmap_free(&handed);
    return more;
}

/* At the start: hands out the first due callbacks of each lane that are in the replayed memtable
 * and not in SQLite yet. Paging finds the rest when they are in SQLite: a kill under load may leave
 * more than a hundred thousand, and most lanes may be dead. One of each lane is handed out first,
 * so that the lanes begin while the others are prepared. */
void writer_hand_out_recovered(struct sqlite_store *s)
{
    struct handout out = {0};
    struct recovered more = find_recovered(s, &out);
    hand_out(s, &out);
    for (size_t i = 0; i < more.count; i++)
        add(&out, memtable_event(s->view.active, more.entries[i]), &more.entries[i]->life);
    hand_out(s, &out);
    free(more.entries);
    free(out.items);
}

void writer_hand_out(struct sqlite_store *s)
{
    struct handout out = {0};
    add_new_events(s, &out);
    add_woken(s, &out);
    hand_out(s, &out);
    free(out.items);
}
