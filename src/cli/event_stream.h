/* Server-sent events (WHATWG HTML, section 9.2.6), read from bytes as they come. */
#pragma once

#include "base/buf.h"

struct event_stream {
    struct buf line, name, data;
    struct buf last_id; /* empty: none yet; kept by event_stream_begin */
    /* False: stop. The texts are valid during the call. */
    bool (*event)(void *context, struct str name, struct str data);
    void *context;
};

/* Call it before the first bytes of a connection. */
void event_stream_begin(struct event_stream *s);
/* False: `event` stopped it, or a line is too long to be one of ours. */
bool event_stream_feed(struct event_stream *s, struct str bytes);
void event_stream_free(struct event_stream *s);
