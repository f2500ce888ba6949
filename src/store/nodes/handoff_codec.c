/* One byte that names the layout, numbers of eight bytes (little-endian), texts after their
 * lengths. */
#include "store/nodes/handoff_codec.h"

#include "base/bytes.h"

#define LAYOUT 2
#define NUMBERS 9
#define TEXTS 3
#define ABSENT UINT64_MAX

static void put_number(struct buf *to, uint64_t v)
{
    char bytes[8];
    put_le64(bytes, v);
    buf_add(to, bytes, sizeof bytes);
}

static void put_text(struct buf *to, struct str s)
{
    put_number(to, s.p ? s.n : ABSENT);
    buf_add_str(to, s);
}

size_t handoff_bytes(const struct event *e)
{
    return 1 + (NUMBERS + TEXTS) * sizeof(uint64_t) + e->event_id.n + e->panelist_id.n + e->body.n;
}

void handoff_encode(struct buf *to, const struct event *e)
{
    buf_add_char(to, LAYOUT);
    put_number(to, e->event_no);
    put_number(to, (uint64_t)e->type << 32 | (uint64_t)e->is_test << 16 | e->signature_offset);
    put_number(to, e->original_no);
    put_number(to, (uint64_t)e->occurred_ms);
    put_number(to, (uint64_t)e->accepted_ms);
    put_number(to, (uint64_t)e->due_ms);
    put_number(to, e->app_no);
    put_number(to, (uint64_t)e->revenue_micros);
    put_number(to, (uint64_t)e->reward_micros);
    put_text(to, e->event_id);
    put_text(to, e->panelist_id);
    put_text(to, e->body);
}

static bool take_number(struct str *rest, uint64_t *ret)
{
    if (rest->n < sizeof *ret)
        return false;
    *ret = get_le64(rest->p);
    *rest = (struct str){rest->p + sizeof *ret, rest->n - sizeof *ret};
    return true;
}

static bool take_text(struct str *rest, struct str *ret)
{
    uint64_t n;
    if (!take_number(rest, &n))
        return false;
    *ret = STR_NONE;
    if (n == ABSENT)
        return true;
    if (n > rest->n)
        return false;
    *ret = (struct str){rest->p, (size_t)n};
    *rest = (struct str){rest->p + n, rest->n - (size_t)n};
    return true;
}

bool handoff_decode(struct str *rest, struct event *ret)
{
    uint64_t v[NUMBERS];
    struct str at = *rest, texts[TEXTS];
    if (at.n == 0 || at.p[0] != LAYOUT)
        return false;
    at = (struct str){at.p + 1, at.n - 1};
    for (size_t i = 0; i < NUMBERS; i++)
        if (!take_number(&at, &v[i]))
            return false;
    for (size_t i = 0; i < TEXTS; i++)
        if (!take_text(&at, &texts[i]))
            return false;
    *ret = (struct event){
        .event_no = v[0],
        .type = (enum event_type)(v[1] >> 32),
        .is_test = (v[1] >> 16 & 1) != 0,
        .signature_offset = (uint16_t)v[1],
        .original_no = v[2],
        .occurred_ms = (int64_t)v[3],
        .accepted_ms = (int64_t)v[4],
        .due_ms = (int64_t)v[5],
        .app_no = (uint32_t)v[6],
        .revenue_micros = (int64_t)v[7],
        .reward_micros = (int64_t)v[8],
        .event_id = texts[0],
        .panelist_id = texts[1],
        .body = texts[2],
    };
    *rest = at;
    return true;
}
