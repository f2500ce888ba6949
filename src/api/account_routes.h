/* What the files of partners, apps, clients and keys share: asking for a change, and lists. */
#pragma once

#include "api/mutation.h"

/* Begins a change whose body is an object (with_body), answered with `status` and render. */
void mutate(struct call *c, bool with_body, enum change_result (*judge)(struct mutation *m),
            void (*render)(struct mutation *m, struct json_writer *w), int status,
            const char *location);

/* A person goes: logs a warning where keys remain that are theirs, by themselves or by such a key.
 */
void keys_warn_of_person(struct api *api, struct str user_id);

/* Answers one entry, which has been printed, with its ETag; 304 where If-None-Match names it. */
void answer_entry(struct call *c, uint64_t version);

#define LIST_MOST 500 /* printed by slices (slices.h) */

/* Prints at most `limit` entries of one kind with numbers below before_no (0: from the newest on),
 * newest first, and gives the number of the last one. True: there are more. */
typedef bool list_printer(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                          uint32_t *ret_last_no);
/* Where a list begins (0: at the newest) and how long it may be, by after and limit. False: there
 * are problems. */
MUST_CHECK bool list_position(struct call *c, uint32_t *ret_before, size_t *ret_limit);
void list_print_next(struct call *c, struct json_writer *w, bool more, uint32_t last_no);
/* {"Items":[...],"Next":...}, newest first, by limit (at most LIST_MOST) and after. */
void answer_list(struct call *c, list_printer *print);
