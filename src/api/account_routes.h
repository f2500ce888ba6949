/* What the routes of partners, apps, clients and keys share: asking the control thread for a
 * change, answering one entry, and answering lists. */
#pragma once

#include "api/mutation.h"

/* Begins a change whose body is an object (with_body), answered with `status` and render. */
void mutate(struct call *c, bool with_body, enum change_result (*judge)(struct mutation *m),
            void (*render)(struct mutation *m, struct json_writer *w), int status,
            const char *location);

/* Called when a person is removed or disabled. Logs a warning if API keys remain that the person
 * made, directly or with another of these keys. */
void keys_warn_of_person(struct api *api, struct str user_id);

/* Answers one entry, already printed, with its ETag; 304 if If-None-Match has the same ETag. */
void answer_entry(struct call *c, uint64_t version);

/* Prints at most `limit` entries of one kind with numbers below before_no (0: from the newest on),
 * newest first. *ret_last_no is the number of the last one printed. True: there are more. */
typedef bool list_printer(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                          uint32_t *ret_last_no);
/* Reads the parameters after and limit. *ret_before 0: from the newest on. False: problems were
 * added. */
MUST_CHECK bool list_position(struct call *c, uint32_t *ret_before, size_t *ret_limit);
void list_print_next(struct call *c, struct json_writer *w, bool more, uint32_t last_no);
/* {"Items":[...],"Next":...}, newest first, by limit (query_limit) and after. */
void answer_list(struct call *c, list_printer *print);
