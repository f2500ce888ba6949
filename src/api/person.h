/* The person who sends a request: the session's cookie, and the checks that stop other sites'
 * pages from using it (docs/people-api.md, "A session on the wire"). */
#pragma once

#include "api/call.h"
#include "people/people.h"

/* Fills in the caller from the cookie. False: nobody is signed in. A second call fills in the
 * present rights. */
MUST_CHECK bool person_authenticate(struct call *c);
/* Has the store record, soon, when the session was last used. */
void person_note_use(struct api *api, struct str session_id);
/* True if the request may come from this daemon's own page: checks Sec-Fetch-Site and Origin, if
 * the client sends them. */
MUST_CHECK bool person_same_origin(const struct call *c);
#define PERSON_OTHER_ORIGIN                                                                        \
    "This request came from another site and was rejected. If it came from this one, its "         \
    "operator "                                                                                    \
    "has to set the site's own URL (--public-url)."
/* True if X-Csrf-Token belongs to the session. */
MUST_CHECK bool person_csrf_good(const struct call *c);

/* "Set-Cookie: ...\r\n" with the token; absent: clears the cookie. */
void person_print_cookie(struct buf *to, const struct call *c, struct str token);

/* The cookie of a sign-in under way (people/sign_in_flow.h); absent: none. SameSite=Lax, so that
 * the browser also sends it when a provider sends the browser back. */
struct str person_flow(const struct call *c);
void person_print_flow(struct buf *to, const struct call *c, struct str flow, int64_t seconds);

/* The cookie of an earlier sign-in in this browser (people/device.h); absent: none. */
struct str person_device(const struct call *c);
/* "Set-Cookie: ...\r\n" for the signed-in user; nothing if the browser has the cookie already. */
void person_print_device(struct buf *to, const struct call *c);

/* The page's URL for browsers: --public-url, or the address of this request. */
void person_print_base_url(struct buf *to, const struct call *c);

/* The object of GET /api/v1/session; user NULL: nobody is signed in. */
void person_render(struct json_writer *w, struct api *api, const struct user *user,
                   const struct session *session, struct str token);
/* "Partner":{...} or null. */
void person_render_partner(struct json_writer *w, struct api *api, uint32_t account_no);
void person_render_user(struct json_writer *w, struct api *api, const struct user *u);
