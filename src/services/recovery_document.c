/* A recovery as the store keeps it. */
#include "services/recovery.h"

#include "base/alloc.h"
#include "json/writer.h"

#include <stdlib.h>

bool recovery_is_done(const struct recovery *r)
{
    for (size_t i = 0; i < r->part_count; i++)
        if (r->parts[i].state != CALLBACK_NONE)
            return false;
    return true;
}

enum callback_state recovery_next_state(unsigned states, enum callback_state state)
{
    for (int s = (int)state + 1; s <= CALLBACK_SKIPPED; s++)
        if (states & 1u << s)
            return (enum callback_state)s;
    return CALLBACK_NONE;
}

void recovery_print(struct buf *to, const struct recovery *r)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_c(&w, "Id", r->id);
    json_key_int(&w, "Account", r->account_no);
    json_key_int(&w, "App", r->app_no);
    json_key_int(&w, "From", r->from_ms);
    json_key_int(&w, "To", r->to_ms);
    json_key_int(&w, "Until", r->until_ms);
    json_key_int(&w, "LastEvent", (int64_t)r->last_event_no);
    json_key_int(&w, "Created", r->created_ms);
    json_key_int(&w, "States", r->states);
    json_key_int(&w, "Rate", r->rate_per_second);
    json_key_int(&w, "Matched", r->matched);
    json_key_int(&w, "Resent", r->resent);
    json_key_int(&w, "Purged", r->purged);
    json_key_int(&w, "Erased", r->erased);
    json_key_array(&w, "Parts");
    for (size_t i = 0; i < r->part_count; i++) {
        json_object(&w);
        json_key_int(&w, "App", r->parts[i].app_no);
        json_key_int(&w, "State", r->parts[i].state);
        json_key_int(&w, "After", (int64_t)r->parts[i].after_event_no);
        json_end_object(&w);
    }
    json_end_array(&w);
    json_end_object(&w);
}

static bool read_parts(const struct json *parts, struct recovery *r)
{
    bool good = parts && parts->type == JSON_ARRAY;
    if (!good)
        return false;
    r->parts = xcalloc(parts->count + 1, sizeof *r->parts);
    for (const struct json *p = parts->first; p; p = p->next)
        r->parts[r->part_count++] = (struct recovery_part){
            .app_no = (uint32_t)json_member_int(p, "App", 1, UINT32_MAX, &good),
            .state = (enum callback_state)json_member_int(p, "State", 0, CALLBACK_SKIPPED, &good),
            .after_event_no = (uint64_t)json_member_int(p, "After", 0, INT64_MAX, &good),
        };
    if (!good) {
        free(r->parts);
        r->parts = NULL;
    }
    return good;
}

bool recovery_read(const struct json *document, struct recovery *ret)
{
    bool good = true;
    const struct json *id = json_member(document, "Id");
    struct recovery r = {
        .account_no = (uint32_t)json_member_int(document, "Account", 1, UINT32_MAX, &good),
        .app_no = (uint32_t)json_member_int(document, "App", 0, UINT32_MAX, &good),
        .from_ms = json_member_int(document, "From", INT64_MIN, INT64_MAX, &good),
        .to_ms = json_member_int(document, "To", INT64_MIN, INT64_MAX, &good),
        .until_ms = json_member_int(document, "Until", INT64_MIN, INT64_MAX, &good),
        .last_event_no = (uint64_t)json_member_int(document, "LastEvent", 0, INT64_MAX, &good),
        .created_ms = json_member_int(document, "Created", 0, INT64_MAX, &good),
        .states =
            (unsigned)json_member_int(document, "States", 1, (2 << CALLBACK_SKIPPED) - 1, &good),
        .rate_per_second = (int32_t)json_member_int(document, "Rate", 1, RECOVERY_RATE_MOST, &good),
        .matched = json_member_int(document, "Matched", 0, INT64_MAX, &good),
        .resent = json_member_int(document, "Resent", 0, INT64_MAX, &good),
        .purged = json_member_int(document, "Purged", 0, INT64_MAX, &good),
        .erased = json_member_int(document, "Erased", 0, INT64_MAX, &good),
    };
    if (!good || !id || id->type != JSON_STRING || id->text.n >= sizeof r.id)
        return false;
    memcpy(r.id, id->text.p, id->text.n);
    if (!read_parts(json_member(document, "Parts"), &r))
        return false;
    *ret = r;
    return true;
}
