/* Clients: the integrations of an app. */
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/route.h"
#include "api/slices.h"

static enum change_result create(struct mutation *m)
{
    return change_create_client(m->accounts, m->c->app->id, m->body, &m->c->problems, &m->change);
}

static enum change_result patch(struct mutation *m)
{
    return change_patch_client(m->accounts, m->c->client->id, http_header_list(m->c->r, "if-match"),
                               m->body, &m->c->problems, &m->change);
}

static void render(struct mutation *m, struct json_writer *w)
{
    render_client(w, m->change.client);
}

void clients_post(struct call *c)
{
    mutate(c, true, create, render, 201, "/api/v1/clients/");
}

void client_patch(struct call *c)
{
    mutate(c, true, patch, render, 200, NULL);
}

void client_get(struct call *c)
{
    render_client(call_begin_json(c), c->client);
    answer_entry(c, c->client->version);
}

/* --- the list ------------------------------------------------------------------------------- */

static bool print_items(struct call *c, struct json_writer *w, uint32_t before_no, size_t limit,
                        uint32_t *ret_last_no)
{
    struct client *found[SLICE_ITEMS + 1];
    size_t count = directory_list_clients(c->api->options.directory, c->account_no, c->app->app_no,
                                          before_no, found, limit + 1);
    for (size_t i = 0; i < count; i++) {
        if (i < limit) {
            render_client(w, found[i]);
            *ret_last_no = found[i]->client_no;
        }
        client_unref(found[i]);
    }
    return count > limit;
}

void clients_list(struct call *c)
{
    answer_list(c, print_items);
}
