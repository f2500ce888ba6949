/* Forwards the store's notifications of other nodes' changes, which come on the store's threads, to
 * delivery, the control thread, recoveries and operations. */
#include "daemon/peer_changes.h"

#include "api/api.h"

#include "base/log.h"

static struct peer_changes *peer_changes_of(struct store_watcher *w)
{
    return CONTAINER_OF(w, struct peer_changes, watcher);
}

static void leases_changed(struct store_watcher *w)
{
    delivery_leases_changed(peer_changes_of(w)->delivery);
}

static void lanes_waiting(struct store_watcher *w, const struct lane_backlog *lanes, size_t count)
{
    delivery_recover(peer_changes_of(w)->delivery, lanes, count);
}

static void panelist_erased(struct store_watcher *w, uint32_t account_no, int64_t mono_ms)
{
    delivery_erased_elsewhere(peer_changes_of(w)->delivery, account_no, mono_ms);
}

static void objects_changed(struct store_watcher *w)
{
    control_refresh(peer_changes_of(w)->control);
}

static void asked(struct store_watcher *w, int64_t question, uint32_t app_no,
                  enum question_scope scope)
{
    struct peer_changes *e = peer_changes_of(w);
    api_answer_question(e->api, e->executor, question, app_no, scope);
}

void peer_changes_watch(struct peer_changes *e, struct store *store)
{
    e->watcher = (struct store_watcher){
        .leases = leases_changed,
        .waiting = lanes_waiting,
        .erased = panelist_erased,
        .objects = objects_changed,
        .asked = asked,
    };
    store_watch(store, &e->watcher);
}

static void refresh_app(struct peer_changes *e, struct str id)
{
    struct app *app = directory_app(e->owners.directory, id);
    if (!app)
        return;
    delivery_app_changed(e->delivery, app->app_no);
    app_unref(app);
}

void peer_changes_refresh(struct peer_changes *e, struct arena *arena,
                          const struct object_part *object)
{
    struct str why;
    bool good = object_give(&e->owners, OBJECT_CHANGED, arena, object, &why);
    if (object->kind == OBJECT_APP)
        refresh_app(e, object->id);
    if (!good)
        log_error("object_not_read", LOG_INT("kind", object->kind), LOG_STR("id", object->id),
                  LOG_STR("why", why));
}
