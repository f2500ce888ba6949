/* The state's members, the same for files and S3. */
#include "cli/export_state.h"

#include "domain/clock.h"

#include <stdlib.h>

void export_state_print(struct json_writer *w, struct str identity, int64_t bytes,
                        const struct export_place *place)
{
    struct buf day = {0};
    clock_print_day(&day, place->day);
    json_key_string(w, "Export", identity);
    json_key_int(w, "Bytes", bytes);
    json_key_int(w, "Rows", place->rows);
    json_key_string(w, "Day", buf_str(&day));
    json_key_string(w, "After", buf_str(&place->after));
    json_key_string(w, "Partner", buf_str(&place->partner));
    json_key_string(w, "PartnersAfter", buf_str(&place->partners_after));
    buf_free(&day);
}

bool export_state_is_whole(const struct json *state)
{
    int32_t day;
    return clock_parse_day(json_member_text(state, "Day"), &day);
}

bool export_state_is_of(const struct json *state, struct str identity)
{
    return str_eq(json_member_text(state, "Export"), identity);
}

int64_t export_state_int(const struct json *state, const char *name)
{
    struct str text = json_member_text(state, name);
    return text.p ? strtoll(text.p, NULL, 10) : 0;
}

static void copy_member(struct buf *to, const struct json *state, const char *name)
{
    buf_clear(to);
    buf_add_str(to, json_member_text(state, name));
}

void export_state_take_place(const struct json *state, struct export_place *place)
{
    ASSERT(clock_parse_day(json_member_text(state, "Day"), &place->day));
    place->rows = export_state_int(state, "Rows");
    copy_member(&place->after, state, "After");
    copy_member(&place->partner, state, "Partner");
    copy_member(&place->partners_after, state, "PartnersAfter");
}
