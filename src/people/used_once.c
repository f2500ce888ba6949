/* A short array of times, searched from end to end. */
#include "people/used_once.h"

#include "accounts/document_reader.h"

bool used_once_refuses(const struct used_once *used, int64_t time, int64_t latest)
{
    bool refuses = used->times[0] <= latest && time <= used->times[0];
    for (size_t i = 0; i < USED_ONCE_KEPT; i++)
        refuses |= time == used->times[i];
    return refuses;
}

void used_once_add(struct used_once *used, int64_t time)
{
    memmove(used->times + 1, used->times, sizeof used->times - sizeof used->times[0]);
    used->times[0] = time;
}

void used_once_print(struct json_writer *w, const struct used_once *used, const char *last,
                     const char *earlier)
{
    json_key_int(w, last, used->times[0]);
    json_key_array(w, earlier);
    for (size_t i = 1; i < USED_ONCE_KEPT && used->times[i]; i++)
        json_int(w, used->times[i]);
    json_end_array(w);
}

struct used_once used_once_read(struct document_reader *r, const char *last, const char *earlier)
{
    struct used_once used = {{document_number(r, last, 0, INT64_MAX)}};
    const struct json *list = json_member(r->fields.body, earlier);
    const struct json *item = list ? list->first : NULL;
    for (size_t i = 1; i < USED_ONCE_KEPT && item; i++, item = item->next) {
        uint64_t time = 0;
        if (item->type != JSON_NUMBER || !str_parse_uint(item->text, INT64_MAX, &time))
            document_wrong(r, earlier);
        used.times[i] = (int64_t)time;
    }
    return used;
}
