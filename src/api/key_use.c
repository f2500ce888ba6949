/* One change of the control thread for each key and KEY_USED_LAG_MS. Where the store does not take
 * it, the key's next request asks again. */
#include "api/key_use.h"

#include "api/internal.h"
#include "base/alloc.h"
#include "services/control.h"

#include <stdlib.h>

struct key_using {
    struct task task;
    struct api *api;
    struct arena arena;
    struct str key_id;
};

static void run_key_using(struct task *task)
{
    struct key_using *u = CONTAINER_OF(task, struct key_using, task);
    struct accounts *accounts = u->api->options.accounts;
    struct change change;
    control_catch_up(u->api->options.control);
    if (change_key_used(accounts, u->key_id, &change)) {
        struct object_part part = {OBJECT_KEY, change.id, buf_str(&change.document)};
        if (control_keep(u->api->options.control, &part, 1) == STORE_OK)
            change_apply(accounts, &change);
        change_free(accounts, &change);
    }
    arena_free(&u->arena);
    free(u);
}

void key_note_use(struct api *api, struct str key_id)
{
    struct key_using *u = xcalloc(1, sizeof *u);
    u->api = api;
    u->key_id = arena_str(&u->arena, key_id);
    u->task.run = run_key_using;
    u->task.owner = OWNER_DAEMON;
    control_post(api->options.control, &u->task);
}
