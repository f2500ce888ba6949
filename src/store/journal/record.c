/* The codec of journal records. The encoders compute every length before they write, so a record is
 * one reservation and a run of stores. The decoder checks everything that a caller might index or
 * switch by: a group's checksum proves that the bytes are those that were written, not that this
 * version of the program understands them. */
#include "store/journal/record.h"

#include "base/bytes.h"

#include <string.h>

#define ABSENT UINT32_MAX
#define RECORD_HEAD_BYTES 5u

/* --- writing: each helper returns the next position -------------------------------------- */

static char *put_u8(char *at, unsigned v)
{
    *at = (char)v;
    return at + 1;
}

static char *put_u16(char *at, uint16_t v)
{
    at = put_u8(at, v & 0xffu);
    return put_u8(at, v >> 8);
}

static char *put_u32(char *at, uint32_t v)
{
    put_le32(at, v);
    return at + 4;
}

static char *put_u64(char *at, uint64_t v)
{
    put_le64(at, v);
    return at + 8;
}

static char *put_i32(char *at, int32_t v)
{
    return put_u32(at, (uint32_t)v);
}

static char *put_i64(char *at, int64_t v)
{
    return put_u64(at, (uint64_t)v);
}

static char *put_key(char *at, struct key128 key)
{
    at = put_u64(at, key.hi);
    return put_u64(at, key.lo);
}

static char *put_str(char *at, struct str s)
{
    if (!s.p)
        return put_u32(at, ABSENT);
    ASSERT(s.n < ABSENT);
    at = put_u32(at, (uint32_t)s.n);
    if (s.n)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

static size_t texts_bytes(const struct str *texts, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += 4 + texts[i].n;
    return n;
}

/* Reserves the record, with its head, and writes its kind; record_end fills in the length. */
static char *record_begin(struct buf *to, enum record_kind kind, size_t most_bytes)
{
    char *at = buf_reserve(to, most_bytes);
    return put_u8(at, kind) + 4;
}

static void record_end(struct buf *to, const char *end)
{
    char *head = to->p + to->n;
    size_t n = (size_t)(end - head);
    ASSERT(to->n + n <= to->capacity && n - RECORD_HEAD_BYTES < ABSENT);
    put_u32(head + 1, (uint32_t)(n - RECORD_HEAD_BYTES));
    to->n += n;
}

#define EVENT_FIXED_BYTES 128

void record_add_event(struct buf *to, const struct event *e)
{
    const struct str texts[] = {
        e->event_id,    e->panelist_id,   e->session_id,         e->mid,
        e->offer_title, e->offer_goal_id, e->original_reward_id, e->reason,
    };
    char *at = record_begin(to, RECORD_EVENT,
                            RECORD_HEAD_BYTES + EVENT_FIXED_BYTES +
                                texts_bytes(texts, ARRAY_LEN(texts)) + 4 + e->body.n);
    at = put_u32(at, e->account_no);
    at = put_u32(at, e->app_no);
    at = put_u32(at, e->client_no);
    at = put_u64(at, e->event_no);
    at = put_u8(at, e->type);
    at = put_u8(at, e->lane);
    at = put_u8(at, e->is_test);
    at = put_u8(at, e->reward_decimals);
    at = put_i64(at, e->occurred_ms);
    at = put_i64(at, e->accepted_ms);
    at = put_i64(at, e->revenue_micros);
    at = put_i64(at, e->reward_micros);
    at = put_i64(at, e->offer_id);
    at = put_u64(at, e->original_no);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        at = put_str(at, texts[i]);
    at = put_key(at, e->key);
    at = put_u64(at, e->content);
    at = put_str(at, e->body);
    at = put_u16(at, e->signature_offset);
    at = put_u8(at, e->state);
    at = put_u8(at, e->reason_skipped);
    at = put_u8(at, e->cap);
    at = put_i64(at, e->due_ms);
    record_end(to, at);
}

/* A byte of a text takes at most six in the body (\u00xx). The rest of the body is its members'
 * names, its amounts, Sig and Signature. */
#define EVENT_TEXT_TIMES 7
#define EVENT_BODY_FIXED_BYTES 768
#define EVENT_TEXTS_COPIED_BYTES (LIMIT_PANELIST_ID_BYTES + 3 * LIMIT_TEXT_BYTES)

size_t record_event_bytes_most(const struct candidate *c)
{
    size_t texts = c->event_id.n + c->panelist_id.n + c->session_id.n + c->mid.n +
                   c->offer_title.n + c->offer_goal_id.n + c->original_reward_id.n + c->reason.n +
                   c->client_id.n;
    if (c->type == EVENT_OFFER_COMPLETION_REVERSED)
        texts += EVENT_TEXTS_COPIED_BYTES;
    size_t most =
        RECORD_HEAD_BYTES + EVENT_FIXED_BYTES + EVENT_BODY_FIXED_BYTES + texts * EVENT_TEXT_TIMES;
    return most < LIMIT_EVENT_RECORD_BYTES ? most : LIMIT_EVENT_RECORD_BYTES;
}

static char *put_attempt(char *at, const struct attempt *a)
{
    at = put_i32(at, a->number);
    at = put_u8(at, a->manual);
    at = put_i64(at, a->at_ms);
    at = put_i32(at, a->duration_ms);
    at = put_i32(at, a->status);
    at = put_u8(at, a->class);
    at = put_str(at, a->url);
    at = put_str(at, a->detail);
    at = put_str(at, a->request_headers);
    at = put_str(at, a->response_headers);
    return put_str(at, a->response_body);
}

#define OUTCOME_FIXED_BYTES 72

size_t record_outcome_bytes_most(const struct outcome *o)
{
    const struct attempt *a = &o->attempt;
    const struct str texts[] = {a->url, a->detail, a->request_headers, a->response_headers,
                                a->response_body};
    size_t most = RECORD_HEAD_BYTES + OUTCOME_FIXED_BYTES;
    return o->has_attempt ? most + texts_bytes(texts, ARRAY_LEN(texts)) : most;
}

void record_add_outcome(struct buf *to, const struct outcome *o)
{
    char *at = record_begin(to, RECORD_OUTCOME, record_outcome_bytes_most(o));
    at = put_u32(at, o->account_no);
    at = put_u64(at, o->event_no);
    at = put_u64(at, o->lane);
    at = put_u8(at, o->has_attempt);
    if (o->has_attempt)
        at = put_attempt(at, &o->attempt);
    at = put_u8(at, o->state);
    at = put_u8(at, o->reason);
    at = put_i32(at, o->place.failed_attempts);
    at = put_i32(at, o->place.slot);
    at = put_i64(at, o->place.due_ms);
    record_end(to, at);
}

size_t record_object_bytes_most(struct str id, struct str document)
{
    return RECORD_HEAD_BYTES + 1 + 4 + id.n + 4 + document.n;
}

void record_add_object(struct buf *to, enum object_kind kind, struct str id, struct str document)
{
    char *at = record_begin(to, RECORD_OBJECT, record_object_bytes_most(id, document));
    at = put_u8(at, kind);
    at = put_str(at, id);
    at = put_str(at, document);
    record_end(to, at);
}

void record_add_resend(struct buf *to, const struct record_resend *r)
{
    char *at = record_begin(to, RECORD_RESEND, RECORD_RESEND_BYTES_MOST);
    at = put_u32(at, r->account_no);
    at = put_u64(at, r->event_no);
    at = put_u64(at, r->lane);
    at = put_u8(at, r->was_delivered);
    at = put_i64(at, r->due_ms);
    record_end(to, at);
}

size_t record_erase_bytes_most(const struct record_erase *r)
{
    return RECORD_HEAD_BYTES + 12 + r->panelist_id.n + r->replacement.n;
}

void record_add_erase(struct buf *to, const struct record_erase *r)
{
    char *at = record_begin(to, RECORD_ERASE, record_erase_bytes_most(r));
    at = put_u32(at, r->account_no);
    at = put_str(at, r->panelist_id);
    at = put_str(at, r->replacement);
    record_end(to, at);
}

/* --- reading ------------------------------------------------------------------------------ */

/* The unread bytes of a record. After a read beyond the end, `bad` stays set and every read returns
 * zero. */
struct record_reader {
    const unsigned char *at;
    size_t left;
    bool bad;
};

static uint64_t get(struct record_reader *r, size_t bytes)
{
    if (r->left < bytes) {
        r->bad = true;
        return 0;
    }
    unsigned char low[8] = {0};
    memcpy(low, r->at, bytes);
    r->at += bytes;
    r->left -= bytes;
    return get_le64(low);
}

static uint32_t get_u32(struct record_reader *r)
{
    return (uint32_t)get(r, 4);
}

static int32_t get_i32(struct record_reader *r)
{
    return (int32_t)get_u32(r);
}

static int64_t get_i64(struct record_reader *r)
{
    return (int64_t)get(r, 8);
}

/* A number from least to most, inclusive. */
static unsigned get_range(struct record_reader *r, unsigned least, unsigned most)
{
    unsigned v = (unsigned)get(r, 1);
    if (v < least || v > most) {
        r->bad = true;
        return least;
    }
    return v;
}

static bool get_bool(struct record_reader *r)
{
    return get_range(r, 0, 1) == 1;
}

static struct key128 get_key(struct record_reader *r)
{
    struct key128 key;
    key.hi = get(r, 8);
    key.lo = get(r, 8);
    return key;
}

static struct str get_str(struct record_reader *r)
{
    uint32_t n = get_u32(r);
    if (r->bad || n == ABSENT)
        return STR_NONE;
    if (n > r->left) {
        r->bad = true;
        return STR_NONE;
    }
    struct str s = {(const char *)r->at, n};
    r->at += n;
    r->left -= n;
    return s;
}

static enum callback_state get_state(struct record_reader *r, unsigned least)
{
    unsigned state = get_range(r, least, CALLBACK_SKIPPED);
    r->bad |= state == CALLBACK_DELIVERING;
    return (enum callback_state)state;
}

static void get_event(struct record_reader *r, struct event *e)
{
    e->account_no = get_u32(r);
    e->app_no = get_u32(r);
    e->client_no = get_u32(r);
    e->event_no = get(r, 8);
    e->type = (enum event_type)get_range(r, EVENT_SURVEY_STARTED, EVENT_TYPE_LAST);
    e->lane = (enum lane_kind)get_range(r, LANE_NONE, LANE_LAST);
    e->is_test = get_bool(r);
    e->reward_decimals = (uint8_t)get_range(r, 0, 6);
    e->occurred_ms = get_i64(r);
    e->accepted_ms = get_i64(r);
    e->revenue_micros = get_i64(r);
    e->reward_micros = get_i64(r);
    e->offer_id = get_i64(r);
    e->original_no = get(r, 8);
    e->event_id = get_str(r);
    e->panelist_id = get_str(r);
    e->session_id = get_str(r);
    e->mid = get_str(r);
    e->offer_title = get_str(r);
    e->offer_goal_id = get_str(r);
    e->original_reward_id = get_str(r);
    e->reason = get_str(r);
    e->key = get_key(r);
    e->content = get(r, 8);
    e->body = get_str(r);
    e->signature_offset = (uint16_t)get(r, 2);
    e->state = get_state(r, CALLBACK_NONE);
    e->reason_skipped = (enum callback_reason)get_range(r, REASON_NONE, REASON_LAST);
    e->cap = (enum cap_part)get_range(r, CAP_NONE, CAP_REACHED);
    e->due_ms = get_i64(r);
    r->bad |= !callback_reason_fits(e->state, e->reason_skipped);
    r->bad |= e->event_no == 0 || e->event_id.n == 0;
    r->bad |= e->signature_offset != 0 && (size_t)e->signature_offset + 32 > e->body.n;
}

static void get_attempt(struct record_reader *r, struct attempt *a)
{
    a->number = get_i32(r);
    a->manual = get_bool(r);
    a->at_ms = get_i64(r);
    a->duration_ms = get_i32(r);
    a->status = get_i32(r);
    a->class = (enum attempt_class)get_range(r, ATTEMPT_OK, ATTEMPT_CLASSES - 1);
    a->url = get_str(r);
    a->detail = get_str(r);
    a->request_headers = get_str(r);
    a->response_headers = get_str(r);
    a->response_body = get_str(r);
}

static void get_outcome(struct record_reader *r, struct outcome *o)
{
    o->account_no = get_u32(r);
    o->event_no = get(r, 8);
    o->lane = get(r, 8);
    o->has_attempt = get_bool(r);
    if (o->has_attempt)
        get_attempt(r, &o->attempt);
    o->state = get_state(r, CALLBACK_PENDING);
    o->reason = (enum callback_reason)get_range(r, REASON_NONE, REASON_LAST);
    o->place.failed_attempts = get_i32(r);
    o->place.slot = get_i32(r);
    o->place.due_ms = get_i64(r);
    r->bad |= !callback_reason_fits(o->state, o->reason);
}

static void get_body(struct record_reader *r, struct record *ret)
{
    switch (ret->kind) {
    case RECORD_EVENT: get_event(r, &ret->event); break;
    case RECORD_OUTCOME: get_outcome(r, &ret->outcome); break;
    case RECORD_OBJECT:
        ret->object.kind = (enum object_kind)get_range(r, OBJECT_PARTNER, OBJECT_KIND_LAST);
        ret->object.id = get_str(r);
        ret->object.document = get_str(r);
        break;
    case RECORD_RESEND:
        ret->resend.account_no = get_u32(r);
        ret->resend.event_no = get(r, 8);
        ret->resend.lane = get(r, 8);
        ret->resend.was_delivered = get_bool(r);
        ret->resend.due_ms = get_i64(r);
        break;
    case RECORD_ERASE:
        ret->erase.account_no = get_u32(r);
        ret->erase.panelist_id = get_str(r);
        ret->erase.replacement = get_str(r);
        break;
    default: r->bad = true;
    }
}

bool record_next(struct str *rest, struct record *ret, bool *ret_bad)
{
    if (rest->n == 0)
        return false;
    struct record_reader head = {(const unsigned char *)rest->p, rest->n, false};
    struct record record = {.kind = (enum record_kind)get(&head, 1)};
    uint32_t n = get_u32(&head);
    struct record_reader body = {head.at, n, head.bad || n > head.left};
    if (!body.bad)
        get_body(&body, &record);
    if (body.bad || body.left != 0) {
        *ret_bad = true;
        return false;
    }
    *ret = record;
    rest->p += RECORD_HEAD_BYTES + n;
    rest->n -= RECORD_HEAD_BYTES + n;
    return true;
}
