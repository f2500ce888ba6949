/* Writes the canonical form into a scratch buffer, reserved once for the largest valid item, and
 * hashes it. */
#include "intake/content.h"

#include "base/bytes.h"

static char *put_number(char *at, char kind, uint64_t value)
{
    *at++ = kind;
    put_le64(at, value);
    return at + 8;
}

static char *put_text(char *at, char kind, struct str text)
{
    *at++ = kind;
    put_le32(at, (uint32_t)text.n);
    at += 4;
    if (text.n)
        memcpy(at, text.p, text.n);
    return at + text.n;
}

static char *put_value(char *at, enum event_field field, const struct json *v,
                       const struct candidate *c)
{
    /* these values are compared by their meaning, not by their spelling */
    if (field == FIELD_REVENUE_AMOUNT)
        return put_number(at, 'm', (uint64_t)c->revenue_micros);
    if (field == FIELD_REWARD)
        return put_number(at, 'm', (uint64_t)c->reward_micros);
    if (field == FIELD_TIMESTAMP)
        return put_number(at, 't', (uint64_t)c->occurred_ms);
    switch (v->type) {
    case JSON_STRING: return put_text(at, 's', v->text);
    case JSON_NUMBER: return put_text(at, 'n', v->text);
    case JSON_TRUE: *at = 'T'; return at + 1;
    case JSON_FALSE: *at = 'F'; return at + 1;
    case JSON_NULL: *at = 'N'; return at + 1;
    case JSON_ARRAY:
    case JSON_OBJECT: break; /* no field accepts one: the item has been rejected */
    }
    UNREACHABLE();
}

uint64_t content_hash(const struct hash_secret *secret, struct buf *scratch,
                      const struct item *item, const struct candidate *candidate)
{
    size_t most = 0;
    for (int field = 1; field <= EVENT_FIELD_LAST; field++)
        if (item->field[field])
            most += 2 + 8 + item->field[field]->text.n;
    buf_clear(scratch);
    char *start = buf_reserve(scratch, most), *at = start;
    for (int field = 1; field <= EVENT_FIELD_LAST; field++) {
        const struct json *v = item->field[field];
        if (!v)
            continue;
        *at++ = (char)field;
        at = put_value(at, (enum event_field)field, v, candidate);
    }
    ASSERT((size_t)(at - start) <= most);
    return hash_key128(secret, start, (size_t)(at - start)).lo;
}
