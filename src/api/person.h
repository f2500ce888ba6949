/* The person who sends a request: the session's cookie, and the checks that stop other sites'
 * pages from using it (docs/people-api.md, "A session on the wire"). */
#pragma once

#include "api/call.h"
#include "people/people.h"

/* Fills in who asks, from the cookie; false: nobody is signed in. Asked again, it fills in what
 * they may now. */
MUST_CHECK bool person_authenticate(struct call *c);
/* Lets the store know, soon, when the session was used last. */
void person_note_use(struct api *api, struct str session_id);
/* Whether the request may come from this daemon's own page: Sec-Fetch-Site and Origin, where the
 * client sends them. */
MUST_CHECK bool person_same_origin(const struct call *c);
#define PERSON_OTHER_ORIGIN                                                                        \
    "This request came from another site and was rejected. If it came from this one, its "         \
    "operator "                                                                                    \
    "has to set the site's own URL (--public-url)."
/* Whether X-Csrf-Token is the session's. */
MUST_CHECK bool person_csrf_good(const struct call *c);

/* "Set-Cookie: ...\r\n" with the token, or clearing it (absent). */
void person_print_cookie(struct buf *to, const struct call *c, struct str token);

/* The cookie of a sign-in that has begun (people/sign_in_flow.h); absent: none. It comes along when
 * a provider sends the browser back: SameSite=Lax. */
struct str person_flow(const struct call *c);
void person_print_flow(struct buf *to, const struct call *c, struct str flow, int64_t seconds);

/* The cookie of an earlier sign-in in this browser (people/device.h); absent: none. */
struct str person_device(const struct call *c);
/* "Set-Cookie: ...\r\n" with one for who is signed in now; nothing where the browser has it. */
void person_print_device(struct buf *to, const struct call *c);

/* Where the outside reaches the page: --public-url, or as this request was addressed. */
void person_print_base_url(struct buf *to, const struct call *c);

/* The object of GET /api/v1/session; user NULL: nobody is signed in. */
void person_render(struct json_writer *w, struct api *api, const struct user *user,
                   const struct session *session, struct str token);
/* "Partner":{...} or null. */
void person_render_partner(struct json_writer *w, struct api *api, uint32_t account_no);
void person_render_user(struct json_writer *w, struct api *api, const struct user *u);
