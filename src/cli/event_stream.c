/* Reads only the fields event, data and id; lines end in LF, as postbackd writes them. */
#include "cli/event_stream.h"

#define LINE_BYTES_MOST (1 << 20)

void event_stream_begin(struct event_stream *s)
{
    buf_clear(&s->line);
    buf_clear(&s->name);
    buf_clear(&s->data);
}

static void set(struct buf *field, struct str value)
{
    buf_clear(field);
    buf_add_str(field, value);
}

/* An empty line ends an event. */
static bool take_line(struct event_stream *s, struct str line)
{
    if (!line.n) {
        bool goes_on = !s->name.n || s->event(s->context, buf_str(&s->name), buf_str(&s->data));
        buf_clear(&s->name);
        buf_clear(&s->data);
        return goes_on;
    }
    struct str value = line, field = str_cut(&value, ':');
    if (value.n && value.p[0] == ' ')
        value = (struct str){value.p + 1, value.n - 1};
    if (str_is(field, "event"))
        set(&s->name, value);
    else if (str_is(field, "data"))
        set(&s->data, value);
    else if (str_is(field, "id"))
        set(&s->last_id, value);
    return true;
}

bool event_stream_feed(struct event_stream *s, struct str bytes)
{
    while (bytes.n) {
        bool ends = memchr(bytes.p, '\n', bytes.n) != NULL;
        struct str piece = str_cut(&bytes, '\n');
        if (s->line.n + piece.n > LINE_BYTES_MOST)
            return false;
        buf_add_str(&s->line, piece);
        if (!ends)
            return true;
        bool goes_on = take_line(s, buf_str(&s->line));
        buf_clear(&s->line);
        if (!goes_on)
            return false;
    }
    return true;
}

void event_stream_free(struct event_stream *s)
{
    buf_free(&s->line);
    buf_free(&s->name);
    buf_free(&s->data);
    buf_free(&s->last_id);
}
