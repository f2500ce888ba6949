/* Callbacks, rewards and attempts as JSON (contract, section 6). */
#pragma once

#include "api/call.h"

/* A list's item, with the last attempt, without or with URL and body; or a whole one, with all
 * attempts. */
enum callback_shown { SHOW_ITEM, SHOW_ITEM_WITH_BODY, SHOW_WHOLE };

void render_callback(struct call *c, struct json_writer *w, const struct callback_row *row,
                     enum callback_shown shown);
void render_reward(struct call *c, struct json_writer *w, const struct callback_row *row,
                   bool with_attempts);
/* The event as reported, its amounts, and the state of its callback. */
void render_event(struct call *c, struct json_writer *w, const struct callback_row *row);
/* `e`: the attempt's callback, whose body has the values of the URL's macros. */
void render_attempt_members(struct call *c, struct json_writer *w, const struct attempt *a,
                            const struct event *e, const struct app *app);
/* The members Method, Url, RequestHeaders and RequestBody. */
void render_request(struct call *c, struct json_writer *w, const struct attempt *a,
                    const struct event *e, const struct app *app);
/* The body as an attempt would send it now, with Sig. Null if it is no longer kept. */
void render_body(struct call *c, struct json_writer *w, const struct event *e,
                 const struct app *app);
