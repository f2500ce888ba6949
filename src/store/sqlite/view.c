/* Look-ups through the layers, and all changes of the active memtable; see view.h. */
#include "store/sqlite/view.h"

#include "base/alloc.h"
#include "domain/clock.h"

#include <stdlib.h>

void view_load(struct view *v)
{
    sqlite3_stmt *s = sql_prepare_f(
        &v->lookup.sql,
        "SELECT app_no,lane,count(*) FROM event WHERE queue=%d GROUP BY app_no,lane", WAIT_HELD);
    while (sql_row(&v->lookup.sql, s)) {
        lane_no lane = lane_of((uint32_t)sql_int(s, 0), (enum lane_kind)sql_int(s, 1));
        bool is_new = false;
        *idmap_put(&v->held, lane, &is_new) = (uint64_t)sql_int(s, 2);
    }
    sql_finalize(s);
}

void view_close(struct view *v)
{
    memtable_free(v->active);
    memtable_free(v->frozen);
    lookup_close(&v->lookup);
    idmap_free(&v->last_event_no);
    idmap_free(&v->held);
    free(v->woken);
    free(v->paid_at_ms);
    pending_resends_free(&v->resends);
    *v = (struct view){0};
}

/* --- looking up ----------------------------------------------------------------------------- */

bool view_key(struct view *v, struct key128 key, struct key_found *ret)
{
    const struct event *e = memtable_event_by_key(v->active, key);
    if (!e && v->frozen)
        e = memtable_event_by_key(v->frozen, key);
    if (!e)
        return lookup_key(&v->lookup, key, ret);
    *ret = (struct key_found){event_id_of(e->account_no, e->event_no), e->content};
    return true;
}

static const struct mem_entry *view_entry(const struct view *v, uint64_t id)
{
    const struct mem_entry *entry = memtable_entry(v->active, id);
    return !entry && v->frozen ? memtable_entry(v->frozen, id) : entry;
}

/* The erasure in a memtable that applies to the event; may be NULL. */
static const struct mem_erase *erasure_of(const struct view *v, uint32_t account_no,
                                          uint64_t event_no, struct str panelist_id)
{
    const struct memtable *layers[] = {v->active, v->frozen};
    for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
        for (size_t k = 0; layers[i] && k < layers[i]->erase_count; k++) {
            const struct mem_erase *what = &layers[i]->erases[k];
            if (what->account_no == account_no && event_no <= what->upto_event_no &&
                str_eq(what->panelist_id, panelist_id))
                return what;
        }
    }
    return NULL;
}

static const struct mem_erase *find_erasure(const struct view *v, const struct event *e)
{
    return erasure_of(v, e->account_no, e->event_no, e->panelist_id);
}

bool view_has_erasure(const struct view *v, const struct callback *c)
{
    return erasure_of(v, c->account_no, c->event_no, c->panelist_id) != NULL;
}

static const struct event *event_in_memory(const struct view *v, uint64_t id)
{
    const struct memtable *layers[] = {v->active, v->frozen};
    for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
        const struct mem_entry *entry = layers[i] ? memtable_entry(layers[i], id) : NULL;
        const struct event *e = entry ? memtable_event(layers[i], entry) : NULL;
        if (e)
            return e;
    }
    return NULL;
}

bool view_is_erased(struct view *v, uint64_t id)
{
    if (!v->has_erased)
        return false;
    const struct event *e = event_in_memory(v, id);
    if (e)
        return find_erasure(v, e) != NULL;
    struct event_row row;
    if (!lookup_row(&v->lookup, id, &row))
        return false;
    bool erased = row.segment == 0 || find_erasure(v, &row.event) != NULL;
    sql_reset(v->lookup.row);
    return erased;
}

/* The callback's state by all records, including erasures that are not applied yet. */
static bool view_status(struct view *v, uint64_t id, struct callback_life *ret)
{
    const struct mem_entry *entry = view_entry(v, id);
    if (entry)
        *ret = entry->life;
    else if (!lookup_status(&v->lookup, id, ret))
        return false;
    if (ret->wait != WAIT_NOT && view_is_erased(v, id))
        life_erase(ret);
    return true;
}

/* An erasure that is recorded and not applied yet counts for every look-up: a reversal must not
 * copy the old PanelistId from its original. */
static bool erase_event(const struct view *v, struct event *e)
{
    const struct mem_erase *what = find_erasure(v, e);
    if (!what)
        return false;
    event_erase(e, what->replacement);
    return true;
}

bool view_event(struct view *v, uint64_t id, struct arena *arena, struct event *ret,
                struct callback_life *ret_life)
{
    const struct event *e = event_in_memory(v, id);
    if (e) {
        *ret = *e;
        (void)erase_event(v, ret);
        event_keep(ret, arena);
        return view_status(v, id, ret_life);
    }
    struct event_row row;
    if (!lookup_row(&v->lookup, id, &row))
        return false;
    *ret = row.event;
    bool erased = erase_event(v, ret);
    event_keep(ret, arena);
    sql_reset(v->lookup.row);
    if (!erased)
        ret->body = lookup_body(&v->lookup, id, row.segment, arena);
    *ret_life = row.life;
    const struct mem_entry *entry = view_entry(v, id);
    if (entry) {
        *ret_life = entry->life;
        if (ret_life->attempts < row.life.attempts)
            ret_life->attempts = row.life.attempts;
    }
    if (erased || row.segment == 0)
        life_erase(ret_life);
    return true;
}

uint64_t view_reversal(struct view *v, uint64_t original_id)
{
    uint64_t id = memtable_reversal(v->active, original_id);
    if (id == 0 && v->frozen)
        id = memtable_reversal(v->frozen, original_id);
    return id != 0 ? id : lookup_reversal(&v->lookup, original_id);
}

/* Payments up to this id are those of a panelist who has been erased since. */
static uint64_t erased_upto(const struct view *v, uint32_t account_no, struct str panelist_id)
{
    const struct memtable *layers[] = {v->active, v->frozen};
    uint64_t upto = 0;
    for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
        for (size_t k = 0; layers[i] && k < layers[i]->erase_count; k++) {
            const struct mem_erase *what = &layers[i]->erases[k];
            uint64_t id = event_id_of(what->account_no, what->upto_event_no);
            if (what->account_no == account_no && str_eq(what->panelist_id, panelist_id) &&
                id > upto)
                upto = id;
        }
    }
    return upto;
}

/* The applier may have committed the frozen memtable already, so ids of the memtables are not
 * counted again in SQLite. */
struct payments view_payments(struct view *v, const struct candidate *c)
{
    struct payment_search search = {
        .app_no = c->terms->app_no,
        .panelist_hash = panelist_key(&v->secret, c->terms->account_no, c->panelist_id).hi,
        .after_ms = c->occurred_ms - DAY_MS,
        .before_ms = c->occurred_ms + DAY_MS,
        .after_id = erased_upto(v, c->terms->account_no, c->panelist_id),
        .least_id = INT64_MAX,
        .most = cap_payments_most(c->terms->disqualification_cap),
    };
    v->paid_at_ms = xgrow(v->paid_at_ms, &v->paid_capacity, search.most, sizeof *v->paid_at_ms);
    search.at_ms = v->paid_at_ms;
    memtable_payments(v->active, &search);
    if (v->frozen)
        memtable_payments(v->frozen, &search);
    lookup_payments(&v->lookup, &search);
    cap_sort(search.at_ms, search.count);
    return (struct payments){search.at_ms, search.count};
}

uint64_t view_last_event_no(struct view *v, uint32_t account_no)
{
    bool is_new = false;
    uint64_t *last = idmap_put(&v->last_event_no, account_no, &is_new);
    if (is_new)
        *last = lookup_last_event_no(&v->lookup, account_no);
    return *last;
}

bool view_has_object(struct view *v, enum object_kind kind, struct str id)
{
    int known = memtable_object(v->active, kind, id);
    if (known < 0 && v->frozen)
        known = memtable_object(v->frozen, kind, id);
    return known < 0 ? lookup_has_object(&v->lookup, kind, id) : known != 0;
}

/* --- changing ------------------------------------------------------------------------------- */

static void wake(struct view *v, uint64_t id)
{
    *ARRAY_PUSH(v->woken, v->woken_count, v->woken_capacity) = id;
}

/* The callback state of a reversal's original; NULL: the event is no reversal. */
static const struct callback_life *find_original(struct view *v, const struct event *e,
                                                 struct callback_life *room)
{
    bool found =
        e->original_no != 0 && view_status(v, event_id_of(e->account_no, e->original_no), room);
    return found ? room : NULL;
}

static void count_held(struct view *v, lane_no lane, int change)
{
    if (change == 0)
        return;
    bool is_new = false;
    uint64_t *count = idmap_put(&v->held, lane, &is_new);
    ASSERT(change > 0 || *count > 0);
    *count += (uint64_t)(int64_t)change;
}

/* Releases the reversal that waits for this original, if the outcome allows it. */
static void release_reversal(struct view *v, uint64_t original_id,
                             const struct callback_life *original, const struct outcome *o)
{
    const uint64_t *held = idmap_find(&v->held, o->lane);
    if (!held || *held == 0)
        return;
    uint64_t id = view_reversal(v, original_id);
    struct callback_life life;
    if (id == 0 || !view_status(v, id, &life) || !life_release(&life, original, outcome_end_ms(o)))
        return;
    count_held(v, o->lane, -1);
    memtable_set_status(v->active, id, &life);
    wake(v, id);
}

void view_add_event(struct view *v, const struct event *e)
{
    struct callback_life original;
    struct callback_life life = life_accept(e, find_original(v, e, &original));
    count_held(v, life.lane, life.wait == WAIT_HELD);
    uint64_t hash =
        e->cap == CAP_COUNTED ? panelist_key(&v->secret, e->account_no, e->panelist_id).hi : 0;
    if (view_last_event_no(v, e->account_no) < e->event_no) {
        bool is_new = false;
        *idmap_put(&v->last_event_no, e->account_no, &is_new) = e->event_no;
    }
    v->last_accepted_ms = e->accepted_ms;
    memtable_add_event(v->active, e, &life, hash);
}

struct callback_life view_handed_out(lane_no lane)
{
    return (struct callback_life){
        .lane = lane, .state = CALLBACK_PENDING, .wait = WAIT_DUE, .attempts = -1};
}

void view_add_outcome(struct view *v, const struct outcome *o)
{
    uint64_t id = event_id_of(o->account_no, o->event_no);
    const struct mem_entry *before = view_entry(v, id);
    int was_held = before && before->life.wait == WAIT_HELD;
    struct callback_life life = before ? before->life : view_handed_out(o->lane);
    struct callback_decision d = outcome_decision(o);
    /* decide_outcome has checked for erasures. Until an erasure is applied, its callbacks' lanes do
     * not know of it: a callback that it made skipped may be tried again. */
    d.is_erased = life.state == CALLBACK_SKIPPED;
    d.is_again = true;
    life_decide(&life, &d);
    count_held(v, o->lane, -was_held);
    memtable_set_status(v->active, id, &life);
    if (o->has_attempt)
        memtable_add_attempt(v->active, id, o->lane, &o->attempt);
    release_reversal(v, id, &life, o);
}

void view_add_resend(struct view *v, const struct record_resend *r)
{
    uint64_t id = event_id_of(r->account_no, r->event_no);
    struct arena scratch = {0};
    struct event e;
    struct callback_life life, original;
    bool found = view_event(v, id, &scratch, &e, &life);
    arena_free(&scratch);
    if (!found)
        return;
    bool was_held = life.wait == WAIT_HELD;
    life_resend(&life, r->due_ms, find_original(v, &e, &original));
    bool is_held = life.wait == WAIT_HELD;
    count_held(v, r->lane, (int)is_held - (int)was_held);
    memtable_set_status(v->active, id, &life);
    v->active->resends++;
    atomic_fetch_add(&v->resends_unapplied, 1);
    if (!is_held)
        wake(v, id);
}

bool view_announce_resend(struct view *v)
{
    atomic_fetch_add(&v->resends_unapplied, 1);
    if (!atomic_load(&v->bodies_go))
        return true;
    view_resend_judged(v);
    return false;
}

void view_resend_judged(struct view *v)
{
    atomic_fetch_sub(&v->resends_unapplied, 1);
}

void view_applied(struct view *v, const struct memtable *m)
{
    atomic_fetch_sub(&v->resends_unapplied, (long long)m->resends);
}

void view_let_go_frozen(struct view *v)
{
    const struct memtable *m = v->frozen;
    if (m->event_count > 0) {
        struct filter *filter = key_sets_open_segment(&v->lookup.keys, m->segment);
        for (size_t i = 0; i < m->event_count; i++)
            filter_add(filter, m->events[i].key);
    }
    v->frozen = NULL;
}

bool view_may_drop_bodies(struct view *v)
{
    atomic_store(&v->bodies_go, true);
    return atomic_load(&v->resends_unapplied) == 0;
}

void view_bodies_gone(struct view *v)
{
    atomic_store(&v->bodies_go, false);
}

void view_add_erase(struct view *v, const struct record_erase *r, struct erase *request)
{
    v->has_erased = true;
    memtable_add_erase(v->active, &(struct mem_erase){
                                      .account_no = r->account_no,
                                      .upto_event_no = view_last_event_no(v, r->account_no),
                                      .panelist_id = r->panelist_id,
                                      .replacement = r->replacement,
                                      .request = request,
                                  });
}

void view_add_object(struct view *v, enum object_kind kind, struct str id, struct str document)
{
    memtable_add_object(v->active, kind, id, document);
}

bool view_replay(struct view *v, struct str records)
{
    struct record r;
    bool bad = false;
    while (record_next(&records, &r, &bad)) {
        switch (r.kind) {
        case RECORD_EVENT: view_add_event(v, &r.event); break;
        case RECORD_OUTCOME: view_add_outcome(v, &r.outcome); break;
        case RECORD_OBJECT:
            view_add_object(v, r.object.kind, r.object.id, r.object.document);
            break;
        case RECORD_RESEND: view_add_resend(v, &r.resend); break;
        case RECORD_ERASE: view_add_erase(v, &r.erase, NULL); break;
        }
    }
    return !bad;
}
