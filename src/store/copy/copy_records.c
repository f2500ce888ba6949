/* Rows as bytes and positions as text; see copy_records.h. */
#include "store/copy/copy_records.h"

#include "base/bytes.h"
#include "store/store_ops.h"

#include <stdlib.h>

/* --- chunks ----------------------------------------------------------------------------------- */

void copy_chunk_begin(struct copy_chunk *c, const struct copy_position *at)
{
    arena_free(&c->arena); /* frees it, because the arena would keep a large chunk's memory */
    *c = (struct copy_chunk){.section = at->section, .end = *at};
}

static void end_at_object(struct copy_position *end, const struct copied_object *o)
{
    ASSERT(o->id.n <= sizeof end->id);
    end->n[0] = o->kind;
    end->id_bytes = o->id.n;
    if (o->id.n > 0)
        memcpy(end->id, o->id.p, o->id.n);
}

static void end_at_book(struct copy_position *end, const struct copied_book *b)
{
    end->n[0] = b->key.account_no;
    end->n[1] = b->key.day;
    end->n[2] = b->key.app_no;
    end->n[3] = b->key.lane;
    end->n[4] = b->key.is_test;
    end->n[5] = b->state;
}

void copy_chunk_end(struct copy_chunk *c, const struct copy_position *at)
{
    c->end = *at;
    if (c->count == 0)
        return;
    size_t last = c->count - 1;
    switch (c->section) {
    case COPY_OBJECTS: end_at_object(&c->end, &c->objects[last]); break;
    case COPY_EVENTS:
        c->end.n[0] = c->events[last].period;
        c->end.n[1] = c->events[last].event.account_no;
        c->end.n[2] = (int64_t)c->events[last].event.event_no;
        break;
    case COPY_REPORTS:
        c->end.n[0] = c->reports[last].account_no;
        c->end.n[1] = c->reports[last].day;
        c->end.n[2] = c->reports[last].client_no;
        break;
    case COPY_BOOKS: end_at_book(&c->end, &c->books[last]); break;
    case COPY_SECTION_END: UNREACHABLE();
    }
}

void copied_event_sort_log(struct copied_event *e)
{
    if (e->log_count > 1)
        qsort(e->log, e->log_count, sizeof *e->log, attempt_compare);
}

/* --- as bytes --------------------------------------------------------------------------------- */

static void put(struct buf *to, int64_t v)
{
    char big[8];
    put_be64(big, (uint64_t)v);
    buf_add(to, big, sizeof big);
}

static void put_money(struct buf *to, __int128 micros)
{
    put(to, (int64_t)(micros >> 64));
    put(to, (int64_t)micros);
}

static void put_text(struct buf *to, struct str s)
{
    put(to, s.p ? (int64_t)s.n : -1);
    if (s.p)
        buf_add_str(to, s);
}

static void put_attempt(struct buf *to, const struct attempt *a)
{
    put(to, a->number);
    put(to, a->manual);
    put(to, a->at_ms);
    put(to, a->duration_ms);
    put(to, a->status);
    put(to, a->class);
    put_text(to, a->url);
    put_text(to, a->detail);
    put_text(to, a->request_headers);
    put_text(to, a->response_headers);
    put_text(to, a->response_body);
}

static void put_event(struct buf *to, const struct copied_event *c)
{
    const struct event *e = &c->event;
    const int64_t numbers[] = {
        c->period,
        e->account_no,
        (int64_t)e->event_no,
        e->app_no,
        e->client_no,
        e->type,
        e->lane,
        e->is_test,
        e->reward_decimals,
        e->occurred_ms,
        e->accepted_ms,
        e->revenue_micros,
        e->reward_micros,
        e->offer_id,
        (int64_t)e->original_no,
        e->signature_offset,
        e->cap,
        (int64_t)e->key.hi,
        (int64_t)e->key.lo,
        (int64_t)e->content,
        c->life.state,
        c->life.reason,
        c->life.wait,
        c->life.manual,
        c->erased,
        c->life.place.failed_attempts,
        c->life.place.slot,
        c->life.place.due_ms,
        c->life.attempts,
        c->counted,
        (int64_t)c->log_count,
    };
    const struct str texts[] = {e->event_id,    e->panelist_id,   e->session_id,         e->mid,
                                e->offer_title, e->offer_goal_id, e->original_reward_id, e->reason,
                                e->body};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        put(to, numbers[i]);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        put_text(to, texts[i]);
    for (size_t i = 0; i < c->log_count; i++)
        put_attempt(to, &c->log[i]);
}

static void put_report_part(struct buf *to, const struct report_part *part)
{
    put(to, part->events);
    put(to, part->starts);
    put(to, part->outcomes);
    put(to, part->conversions[0]);
    put(to, part->conversions[1]);
    put_money(to, part->earnings_micros[0]);
    put_money(to, part->earnings_micros[1]);
}

static void put_report(struct buf *to, const struct copied_report *r)
{
    put(to, r->account_no);
    put(to, r->day);
    put(to, r->client_no);
    put_report_part(to, &r->sums.live);
    put_report_part(to, &r->sums.test);
    put(to, r->sums.active_live);
    put(to, r->sums.active_any);
}

static void put_book(struct buf *to, const struct copied_book *b)
{
    put(to, b->key.account_no);
    put(to, b->key.day);
    put(to, b->key.app_no);
    put(to, b->key.lane);
    put(to, b->key.is_test);
    put(to, b->state);
    put(to, b->sums.count);
    put_money(to, b->sums.reward_micros);
    put_money(to, b->sums.revenue_micros);
}

void copy_encode(const struct copy_chunk *c, size_t row, struct buf *to)
{
    put(to, c->section);
    switch (c->section) {
    case COPY_OBJECTS:
        put(to, c->objects[row].kind);
        put_text(to, c->objects[row].id);
        put_text(to, c->objects[row].document);
        break;
    case COPY_EVENTS: put_event(to, &c->events[row]); break;
    case COPY_REPORTS: put_report(to, &c->reports[row]); break;
    case COPY_BOOKS: put_book(to, &c->books[row]); break;
    case COPY_SECTION_END: UNREACHABLE();
    }
}

void copy_name_row(const struct copy_chunk *c, size_t row, struct buf *to)
{
    switch (c->section) {
    case COPY_OBJECTS:
        buf_printf(to, "object %.*s of kind %d", STR_ARG(c->objects[row].id),
                   (int)c->objects[row].kind);
        break;
    case COPY_EVENTS:
        buf_printf(
            to, "event %.*s, number %llu of account %u", STR_ARG(c->events[row].event.event_id),
            (unsigned long long)c->events[row].event.event_no, c->events[row].event.account_no);
        break;
    case COPY_REPORTS:
        buf_printf(to, "the report of account %u, client %u, day %d", c->reports[row].account_no,
                   c->reports[row].client_no, (int)c->reports[row].day);
        break;
    case COPY_BOOKS:
        buf_printf(to, "the ledger of account %u, app %u, day %d", c->books[row].key.account_no,
                   c->books[row].key.app_no, (int)c->books[row].key.day);
        break;
    case COPY_SECTION_END: UNREACHABLE();
    }
}

/* --- positions -------------------------------------------------------------------------------- */

void copy_position_print(const struct copy_position *at, struct buf *to)
{
    buf_add_int(to, at->section);
    for (size_t i = 0; i < ARRAY_LEN(at->n); i++) {
        buf_add_char(to, ' ');
        buf_add_int(to, at->n[i]);
    }
    buf_add_char(to, ' ');
    buf_add(to, at->id, at->id_bytes);
}

static bool cut_number(struct str *rest, int64_t *ret)
{
    char text[24];
    struct str word = str_cut(rest, ' ');
    if (word.n == 0 || word.n >= sizeof text)
        return false;
    memcpy(text, word.p, word.n);
    text[word.n] = '\0';
    char *end;
    *ret = strtoll(text, &end, 10);
    return *end == '\0';
}

bool copy_position_parse(struct str text, struct copy_position *ret)
{
    struct copy_position at = {0};
    int64_t section;
    if (!cut_number(&text, &section) || section < COPY_OBJECTS || section > COPY_SECTION_END)
        return false;
    at.section = (enum copy_section)section;
    for (size_t i = 0; i < ARRAY_LEN(at.n); i++)
        if (!cut_number(&text, &at.n[i]))
            return false;
    if (!text.p || text.n > sizeof at.id)
        return false;
    at.id_bytes = text.n;
    memcpy(at.id, text.p, text.n);
    *ret = at;
    return true;
}
