/* One item of a request: its members found, then judged. Internal to intake/. */
#pragma once

#include "base/problem.h"
#include "intake/event_fields.h"
#include "json/reader.h"

/* The known members of one reported event, by field; NULL: absent. */
struct item {
    const struct json *field[EVENT_FIELD_LAST + 1];
};

/* What is known about the item's client. */
struct item_client {
    const struct app_terms *terms; /* in the batch's arena; NULL: the client is not known */
    uint32_t client_no;
    enum integration integration;
};

/* What speaks against an item, and whether it always will: what its own bytes say is for ever, what
 * depends on the time or on settings is asked only of an item that is no duplicate. */
struct item_faults {
    struct problems own, of_now;
};

/* Adds unknown_field and invalid (no object, a repeated member). */
void item_find(const struct json *object, struct problems *faults, struct item *ret_item);

/* Adds invalid for each name or string that holds U+0000 or a lone surrogate; true: there are such,
 * and the item is not worth judging further. */
bool item_find_unusable(const struct json *object, struct problems *faults);

/* Everything but the client: fills the candidate, except for key and content, and adds every
 * fault. `client` may be that of an unknown one. */
void item_judge(const struct item *item, const struct item_client *client, int64_t now_ms,
                bool imported, struct item_faults *faults, struct candidate *ret);

/* The EventId to name a rejected item by; absent when it has none that is worth showing. */
struct str item_event_id(const struct item *item);
