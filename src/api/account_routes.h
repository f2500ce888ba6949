/* What the files of partners, apps, clients and keys share: asking for a change, and lists. */
#pragma once

#include "api/control.h"

/* Begins a change whose body is an object (with_body), answered with `status` and render. */
void mutate(struct call *c, bool with_body, enum change_result (*judge)(struct mutation *m),
            void (*render)(struct mutation *m, struct json_writer *w), int status,
            const char *location);

/* Answers one entry with its ETag. */
void answer_entry(struct call *c, const struct buf *body, uint64_t version);

/* How one kind of entry is listed; fetch gives a reference each. */
struct entry_list {
    size_t (*fetch)(struct call *c, uint32_t before_no, void **ret, size_t limit);
    void (*render)(struct json_writer *w, const void *entry);
    uint32_t (*number)(const void *entry);
    void (*unref)(void *entry);
};
/* {"Items":[...],"Next":...}, newest first, by limit and after. */
void answer_list(struct call *c, const struct entry_list *list);
