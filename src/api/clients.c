/* Clients: the integrations of an app. */
#include "accounts/render.h"
#include "api/account_routes.h"
#include "api/internal.h"
#include "api/route.h"

static enum change_result create(struct mutation *m)
{
    return change_create_client(m->accounts, m->c->app->id, m->body, &m->c->problems, &m->change);
}

static enum change_result patch(struct mutation *m)
{
    return change_patch_client(m->accounts, m->c->client->id, http_header(m->c->r, "if-match"),
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
    struct buf body = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    render_client(&w, c->client);
    answer_entry(c, &body, c->client->version);
    buf_free(&body);
}

/* --- the list ------------------------------------------------------------------------------- */

static size_t list_fetch(struct call *c, uint32_t before_no, void **ret, size_t limit)
{
    return directory_list_clients(c->api->options.directory, c->account_no, c->app->app_no,
                                  before_no, (struct client **)ret, limit);
}

static void list_render(struct json_writer *w, const void *entry)
{
    render_client(w, entry);
}

static uint32_t list_number(const void *entry)
{
    return ((const struct client *)entry)->client_no;
}

static void list_unref(void *entry)
{
    client_unref(entry);
}

void clients_list(struct call *c)
{
    static const struct entry_list list = {list_fetch, list_render, list_number, list_unref};
    answer_list(c, &list);
}
