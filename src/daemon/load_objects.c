/* Loads the stored objects. A damaged session, user, key, recovery, notice or record of an
 * Idempotency-Key must not keep all events out: it is left out, as if it had ended, and logged as
 * an error. If a partner, app or client were left out, its events would be rejected for ever, its
 * callbacks lost, and its number given to another one: so the start is refused. That includes an
 * app's secret that cannot be opened, because the master key may be the wrong one. */
#include "daemon/load_objects.h"

#include "base/log.h"

struct loading {
    const struct object_owners *owners;
    struct arena arena;
    struct str why; /* why the start is refused; absent: it is not */
};

static void log_left_out(enum object_kind kind, struct str id, struct str why)
{
    log_error("object_left_out", LOG_INT("kind", kind), LOG_STR("id", id), LOG_STR("why", why),
              LOG_C("fix", "repair or delete its row in the store, then start again"));
}

static void load_object(void *context, enum object_kind kind, struct str id, struct str document)
{
    struct loading *l = context;
    const struct object_part object = {kind, id, document};
    struct str why;
    if (l->why.p || object_give(l->owners, OBJECT_AT_START, &l->arena, &object, &why))
        return;
    if (kind == OBJECT_PARTNER || kind == OBJECT_APP || kind == OBJECT_CLIENT)
        l->why = why;
    else
        log_left_out(kind, id, why);
}

static void leave_out_orphans(struct loading *l)
{
    enum object_kind kind;
    struct str id, why;
    while (people_leave_out_orphan(l->owners->people, l->owners->directory, &l->arena, &kind, &id,
                                   &why))
        log_left_out(kind, id, why);
}

bool load_objects(struct store *store, const struct object_owners *owners, char **ret_why)
{
    struct loading l = {.owners = owners};
    store_visit_objects(store, load_object, &l);
    bool good = !l.why.p && accounts_loaded(owners->accounts, &l.arena, &l.why);
    if (good)
        leave_out_orphans(&l);
    else
        *ret_why = xprintf("accounts: %.*s", STR_ARG(l.why));
    arena_free(&l.arena);
    return good;
}
