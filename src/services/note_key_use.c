/* Has the control thread store when a key was used, once for each KEY_USED_LAG_MS. If the store
 * refuses, the key's next request asks again. */
#include "services/note_key_use.h"

#include "base/alloc.h"

#include <stdlib.h>

struct key_using {
    struct task task;
    struct control *control;
    struct arena arena;
    struct str key_id;
};

static void run_key_using(struct task *task)
{
    struct key_using *u = CONTAINER_OF(task, struct key_using, task);
    struct accounts *accounts = control_accounts(u->control);
    struct change change;
    control_catch_up(u->control);
    if (change_key_used(accounts, u->key_id, &change)) {
        (void)control_change_silently(u->control, &change);
        change_free(accounts, &change);
    }
    arena_free(&u->arena);
    free(u);
}

void key_note_use(struct control *control, struct str key_id)
{
    struct key_using *u = xcalloc(1, sizeof *u);
    u->control = control;
    u->key_id = arena_str(&u->arena, key_id);
    u->task.run = run_key_using;
    u->task.owner = OWNER_DAEMON;
    control_post(control, &u->task);
}
