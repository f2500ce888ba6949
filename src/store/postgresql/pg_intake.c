/* Accepts events: one transaction for a group of batches.
 *
 *   first trip   lock the rows of the accounts, look up keys, earlier payments and starts
 *   (two more    lock originals of reversals, if the group has reversals)
 *   last trip    write everything, COMMIT
 *
 * Between the trips the items are decided one after the other, by what the database has and by the
 * items before them in the group. Event numbers continue from the account's row, which stays locked
 * until the commit: so they become visible in order and without gaps.
 *
 * A group that is tried again because its commit is in doubt finds its own events under the numbers
 * that it assigned: those were accepted, they are no duplicates. */
#include "store/postgresql/pg_intake.h"

#include "base/alloc.h"
#include "domain/acceptance.h"
#include "domain/clock.h"
#include "domain/payload.h"
#include "store/postgresql/intake_lookups.h"
#include "store/postgresql/intake_write.h"
#include "store/postgresql/transaction_retry.h"

#include <stdlib.h>

/* --- earlier items of the group --------------------------------------------------------------- */

static uint64_t spread(uint64_t a, uint64_t b)
{
    uint64_t h = (a + 1) * 0x9e3779b97f4a7c15u ^ b;
    h ^= h >> 32;
    return h ? h : 1;
}

uint64_t pg_intake_panelist_hash(uint32_t account_no, struct str panelist_id)
{
    return spread(account_no, hash_fast(panelist_id.p, panelist_id.n));
}

void pg_intake_chain(struct idmap *map, uint64_t hash, size_t index, size_t *next)
{
    bool is_new;
    uint64_t *first = idmap_put(map, hash, &is_new);
    *next = (size_t)*first;
    *first = index + 1;
}

size_t pg_intake_first(const struct idmap *map, uint64_t hash)
{
    const uint64_t *first = map->count ? idmap_find(map, hash) : NULL;
    return first ? (size_t)*first : 0;
}

int intake_key_compare(const void *a, const void *b)
{
    const struct intake_key *x = a, *y = b;
    if (x->account_no != y->account_no)
        return x->account_no < y->account_no ? -1 : 1;
    return key128_compare(x->key, y->key);
}

static struct intake_item *earlier_with_key(struct pg_intake *in, uint32_t account_no,
                                            struct key128 key)
{
    for (size_t at = pg_intake_first(&in->by_key, spread(key.hi, key.lo)); at;
         at = in->items[at - 1].next_key) {
        struct intake_item *item = &in->items[at - 1];
        if (item->event.account_no == account_no && key128_eq(item->event.key, key))
            return item;
    }
    return NULL;
}

static bool is_near(int64_t paid_ms, int64_t at_ms)
{
    return paid_ms > at_ms - DAY_MS && paid_ms < at_ms + DAY_MS;
}

/* The payments that matter to an item: from the database and from earlier items. Valid until the
 * next call. */
static struct payments find_payments(struct pg_intake *in, const struct intake_item *item)
{
    const struct candidate *c = item->c;
    size_t most = cap_payments_most(c->terms->disqualification_cap), n = 0;
    in->paid_at_ms = xgrow(in->paid_at_ms, &in->paid_capacity, most, sizeof *in->paid_at_ms);
    for (size_t i = 0; i < item->paid.count && n < most; i++)
        if (is_near(item->paid.at_ms[i], c->occurred_ms))
            in->paid_at_ms[n++] = item->paid.at_ms[i];
    for (size_t at = pg_intake_first(&in->by_panelist,
                                     pg_intake_panelist_hash(c->terms->account_no, c->panelist_id));
         at && n < most; at = in->items[at - 1].next_panelist) {
        const struct event *e = &in->items[at - 1].event;
        if (e->cap == CAP_COUNTED && e->app_no == c->terms->app_no &&
            str_eq(e->panelist_id, c->panelist_id) && is_near(e->occurred_ms, c->occurred_ms))
            in->paid_at_ms[n++] = e->occurred_ms;
    }
    cap_sort(in->paid_at_ms, n);
    return (struct payments){in->paid_at_ms, n};
}

static bool reversed_earlier(struct pg_intake *in, const struct event *original)
{
    for (size_t at =
             pg_intake_first(&in->by_reversal, spread(original->account_no, original->event_no));
         at; at = in->items[at - 1].next_reversal) {
        const struct event *e = &in->items[at - 1].event;
        if (e->account_no == original->account_no && e->original_no == original->event_no)
            return true;
    }
    return false;
}

/* Notes whether a start is its panelist's first at that client on that day. */
static void note_start(struct pg_intake *in, struct intake_item *item)
{
    const struct event *e = &item->event;
    bool live = item->started_live, test = item->started_test;
    for (size_t at = pg_intake_first(&in->by_panelist,
                                     pg_intake_panelist_hash(e->account_no, e->panelist_id));
         at && !live; at = in->items[at - 1].next_panelist) {
        const struct event *other = &in->items[at - 1].event;
        if (other->type != EVENT_SURVEY_STARTED || other->client_no != e->client_no ||
            other->account_no != e->account_no ||
            clock_day(other->occurred_ms) != clock_day(e->occurred_ms) ||
            !str_eq(other->panelist_id, e->panelist_id))
            continue;
        live |= !other->is_test;
        test |= other->is_test;
    }
    item->first_start = !live && !test;
    item->first_live_start = !e->is_test && !live;
}

/* --- deciding --------------------------------------------------------------------------------- */

struct pg_original {
    const struct event *event; /* NULL: unknown */
    const struct callback_life *life;
    bool reversed;
};

static struct pg_original find_original(struct pg_intake *in, const struct intake_item *item)
{
    const struct candidate *c = item->c;
    uint32_t account_no = c->terms->account_no;
    if (item->original.found) {
        const struct pg_row *row =
            fetched_find(&in->originals, account_no, item->original.event_no);
        ASSERT(row);
        return (struct pg_original){
            .event = &row->event,
            .reversed = in->reversed[row - in->originals.rows] || reversed_earlier(in, &row->event),
            .life = &row->callback.life,
        };
    }
    const struct intake_item *earlier = earlier_with_key(
        in, account_no, event_key(&in->s->identity.secret, account_no, c->original_reward_id));
    if (!earlier)
        return (struct pg_original){0};
    return (struct pg_original){
        .event = &earlier->event,
        .reversed = reversed_earlier(in, &earlier->event),
        .life = &earlier->life,
    };
}

static struct found_key find_known(struct pg_intake *in, const struct intake_item *item)
{
    if (item->key.found)
        return item->key;
    const struct intake_item *earlier =
        earlier_with_key(in, item->c->terms->account_no, item->c->key);
    if (!earlier)
        return (struct found_key){0};
    return (struct found_key){true, earlier->event.content, earlier->event.event_no, 0};
}

/* True if an earlier try of this group accepted the item, and its commit in doubt happened. */
static bool is_own(const struct pg_intake *in, const struct intake_item *item,
                   struct verdict before)
{
    return in->writer->unknown && item->key.found && item->verdict->kind == VERDICT_DUPLICATE &&
           before.kind == VERDICT_ACCEPTED && before.event_no == item->key.event_no;
}

static void accept(struct pg_intake *in, struct intake_item *item,
                   const struct pg_original *original)
{
    struct event *e = &item->event;
    struct intake_account *a = item->account;
    size_t index = (size_t)(item - in->items);
    item->accepted = true;
    a->last_event_no = e->event_no;
    a->last_accepted_ms = e->accepted_ms;
    int32_t period = pg_period_of_day(clock_day(e->accepted_ms));
    item->begins_period = period > a->period;
    if (item->begins_period)
        a->period = period; /* never back: numbers must be in the order of periods */
    item->period = a->period;
    payload_fix(e, item->c, &in->body);
    e->body = arena_str(in->arena, e->body);
    item->life = life_accept(e, original->life);
    item->presumed = pg_row_may_presume(e, &(struct row_callback){.life = item->life});
    if (e->type == EVENT_SURVEY_STARTED)
        note_start(in, item);
    pg_intake_chain(&in->by_key, spread(e->key.hi, e->key.lo), index, &item->next_key);
    pg_intake_chain(&in->by_panelist, pg_intake_panelist_hash(e->account_no, e->panelist_id), index,
                    &item->next_panelist);
    if (e->type == EVENT_OFFER_COMPLETION_REVERSED)
        pg_intake_chain(&in->by_reversal, spread(e->account_no, e->original_no), index,
                        &item->next_reversal);
}

static void decide(struct pg_intake *in, struct intake_item *item)
{
    const struct candidate *c = item->c;
    struct verdict before = *item->verdict; /* of an earlier try of this group */
    struct found_key known = find_known(in, item);
    struct pg_original original = {0};
    struct acceptance_facts facts = {
        .received_ms = item->received_ms,
        .last_accepted_ms = item->account->last_accepted_ms,
        .last_event_no = item->account->last_event_no,
        .is_known = known.found,
        .known_content = known.content,
        .known_event_no = known.event_no,
    };
    if (!known.found) {
        store_warn_of_clock(item->account->last_accepted_ms, item->received_ms);
        if (acceptance_needs_original(c))
            original = find_original(in, item);
        if (acceptance_needs_payments(c))
            facts.paid = find_payments(in, item);
    }
    facts.original = original.event;
    facts.is_original_reversed = original.reversed;
    *item->verdict = acceptance_decide(c, &facts, &item->event);
    item->own = is_own(in, item, before);
    if (item->own)
        item->verdict->kind = VERDICT_ACCEPTED;
    else if (item->verdict->kind == VERDICT_ACCEPTED)
        accept(in, item, &original);
}

/* --- the group -------------------------------------------------------------------------------- */

static int by_account(const void *a, const void *b)
{
    const struct intake_account *x = a, *y = b;
    return (x->account_no > y->account_no) - (x->account_no < y->account_no);
}

static struct intake_account *account_of(struct pg_intake *in, uint32_t account_no)
{
    struct intake_account key = {.account_no = account_no};
    return bsearch(&key, in->accounts, in->account_count, sizeof key, by_account);
}

static void find_accounts(struct pg_intake *in)
{
    in->accounts = arena_alloc(in->arena, in->count * sizeof *in->accounts);
    for (size_t i = 0; i < in->count; i++)
        in->accounts[i] = (struct intake_account){.account_no = in->items[i].c->terms->account_no};
    qsort(in->accounts, in->count, sizeof *in->accounts, by_account);
    for (size_t i = 0; i < in->count; i++)
        if (in->account_count == 0 ||
            in->accounts[in->account_count - 1].account_no != in->accounts[i].account_no)
            in->accounts[in->account_count++] = in->accounts[i];
    for (size_t i = 0; i < in->count; i++)
        in->items[i].account = account_of(in, in->items[i].c->terms->account_no);
}

static void gather(struct pg_intake *in, const struct pg_intake_group *group)
{
    size_t most = 0;
    for (const struct request *r = group->batches->first; r; r = r->next)
        most += ((struct intake_batch *)r->what)->count;
    in->items = arena_zalloc(in->arena, most * sizeof *in->items + 1);
    for (const struct request *r = group->batches->first; r; r = r->next) {
        struct intake_batch *b = r->what;
        for (size_t i = 0; i < b->count; i++)
            if (!group->left_out || !group->left_out[i])
                in->items[in->count++] = (struct intake_item){
                    .c = &b->items[i], .verdict = &b->verdicts[i], .received_ms = b->received_ms};
    }
    if (in->count > 0)
        find_accounts(in);
}

/* Makes the periods' partitions, outside of the transaction. */
static enum pg_fate make_partitions(struct pg_intake *in)
{
    enum pg_fate fate = PG_OK;
    for (size_t i = 0; fate == PG_OK && i < in->count; i++)
        if (i == 0 || in->items[i].received_ms != in->items[i - 1].received_ms)
            fate = pg_partition_make(in->pg, &in->writer->partitions, PARTITION_PERIOD,
                                     pg_period_of_day(clock_day(in->items[i].received_ms)));
    return fate;
}

/* Callbacks that an earlier try committed without knowing it have not been handed out. */
static enum pg_fate owe_own(struct pg_intake *in)
{
    struct fetch_key *keys = arena_alloc(in->arena, in->count * sizeof *keys);
    struct fetched rows;
    size_t n = 0;
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].own)
            keys[n++] = (struct fetch_key){in->items[i].c->terms->account_no,
                                           in->items[i].key.event_no, in->items[i].key.period};
    enum pg_fate fate = fetch_rows(in->pg, keys, n, FETCH_UNLOCKED, true, in->arena, &rows);
    for (size_t i = 0; fate == PG_OK && i < rows.count; i++)
        if (rows.rows[i].callback.life.wait == WAIT_DUE && rows.rows[i].event.body.p)
            pg_writer_owe(in->writer, pg_row_callback(&rows.rows[i]));
    return fate;
}

static bool has_own(const struct pg_intake *in)
{
    size_t i = 0;
    while (i < in->count && !in->items[i].own)
        i++;
    return i < in->count;
}

static enum pg_fate end_trial(struct pg_intake *in)
{
    enum pg_fate fate = pg_sync(in->pg);
    if (fate == PG_OK)
        pg_rollback(in->pg);
    in->writer->changes.added = (struct pg_counts){0};
    in->writer->handed_over = 0;
    return fate;
}

static enum pg_fate take_in(struct pg_intake *in, bool is_trial)
{
    enum pg_fate fate = make_partitions(in);
    if (fate != PG_OK)
        return fate;
    pg_begin_generic(in->pg);
    pg_intake_ask(in);
    fate = pg_sync(in->pg);
    if (fate != PG_OK)
        return fate;
    pg_intake_read(in);
    fate = pg_intake_fetch_originals(in);
    if (fate != PG_OK)
        return fate;
    for (size_t i = 0; i < in->count; i++)
        decide(in, &in->items[i]);
    if (in->writer->only_looks && !has_own(in)) {
        pg_rollback(in->pg);
        return PG_ABSENT;
    }
    fate = owe_own(in);
    if (fate != PG_OK)
        return fate;
    pg_intake_write(in);
    if (is_trial)
        return end_trial(in);
    fate = pg_sync_commit(in->s, in->pg);
    for (size_t i = 0; fate == PG_OK && i < in->count; i++)
        if (in->items[i].accepted)
            atomic_store(&in->s->numbers.last_accepted_ms, in->items[i].event.accepted_ms);
    return fate;
}

enum pg_fate pg_take_in(struct postgresql_store *s, struct pg *pg, void *intake_group)
{
    const struct pg_intake_group *group = intake_group;
    struct pg_writer *writer = &s->change_writer;
    struct pg_intake in = {.s = s, .pg = pg, .writer = writer, .arena = &writer->scratch};
    gather(&in, group);
    enum pg_fate fate = in.count > 0 ? take_in(&in, group->is_trial) : PG_OK;
    idmap_free(&in.by_key);
    idmap_free(&in.by_panelist);
    idmap_free(&in.by_reversal);
    idmap_free(&in.by_question);
    free(in.paid_at_ms);
    buf_free(&in.body);
    return fate;
}
