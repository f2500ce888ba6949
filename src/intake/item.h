/* One item of a request: finds its members, then judges them. Internal to intake/. */
#pragma once

#include "base/problem.h"
#include "intake/event_fields.h"
#include "json/reader.h"

/* The known members of one reported event, by field; NULL: absent. */
struct item {
    const struct json *field[EVENT_FIELD_LAST + 1];
};

/* Facts about the item's client. */
struct item_client {
    const struct app_terms *terms; /* in the batch's arena; NULL: the client is unknown */
    uint32_t client_no;
    enum integration integration;
};

/* Faults of an item: `own` follow from its own bytes and are permanent; `of_now` depend on the time
 * or on settings, and do not matter for a duplicate. */
struct item_faults {
    struct problems own, of_now;
    bool doubt; /* for a client or setting of which another node may know a newer version */
};

/* Adds unknown_field and invalid (not an object, a repeated member). */
void item_find(const struct json *object, struct problems *faults, struct item *ret_item);

/* Adds invalid for each name or string with U+0000 or a lone surrogate. True: there are such
 * faults, and the item need not be judged further. */
bool item_find_unusable(const struct json *object, struct problems *faults);

/* Judges everything except the client: fills the candidate, except for key and content, and adds
 * every fault. The client may be unknown. */
void item_judge(const struct item *item, const struct item_client *client, int64_t now_ms,
                bool imported, struct item_faults *faults, struct candidate *ret);

/* The EventId that names a rejected item; absent if it has none that can be shown. */
struct str item_event_id(const struct item *item);
