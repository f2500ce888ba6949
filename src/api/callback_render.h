/* Callbacks, rewards and attempts as JSON (contract, section 6). */
#pragma once

#include "api/call.h"

/* In a list, with its last attempt, without or with its URL and body; or alone, with all attempts.
 */
enum callback_shown { SHOW_ITEM, SHOW_ITEM_WITH_BODY, SHOW_WHOLE };

void render_callback(struct call *c, struct json_writer *w, const struct callback_row *row,
                     enum callback_shown shown);
void render_reward(struct call *c, struct json_writer *w, const struct callback_row *row,
                   bool with_attempts);
/* As it was reported, what it is worth, and what became of its callback. */
void render_event(struct call *c, struct json_writer *w, const struct callback_row *row);
/* Of the callback `e`, whose body tells what stood in place of the URL's macros. */
void render_attempt_members(struct call *c, struct json_writer *w, const struct attempt *a,
                            const struct event *e, const struct app *app);
/* Its members Method, Url, RequestHeaders and RequestBody. */
void render_request(struct call *c, struct json_writer *w, const struct attempt *a,
                    const struct event *e, const struct app *app);
/* The body as an attempt made now would send it: with Sig. Null where it is no longer kept. */
void render_body(struct call *c, struct json_writer *w, const struct event *e,
                 const struct app *app);
