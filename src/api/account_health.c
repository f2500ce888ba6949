/* Adds up and prints the health of an account's endpoints. Groups are appended as they arrive,
 * several with the same id too, and merged when they are printed. Searching the list at each
 * endpoint would take time proportional to the square of their number. */
#include "api/account_health.h"

#include "base/alloc.h"

#include <stdlib.h>

void account_health_free(struct account_health *h)
{
    free(h->apps.items);
    free(h->partners.items);
    free(h->items);
    arena_free(&h->arena);
}

static void add_group(struct account_health *h, struct health_groups *to, struct health_group group)
{
    to->items = xgrow(to->items, &to->capacity, to->count + 1, sizeof *to->items);
    group.id = arena_str(&h->arena, group.id);
    to->items[to->count++] = group;
}

void account_health_count(struct account_health *h, const struct app *app,
                          enum endpoint_health health, bool name_apps)
{
    h->counts[health]++;
    if (health >= ENDPOINT_HEALTHY)
        return;
    add_group(h, &h->partners, (struct health_group){app->partner_id, health, 1});
    if (name_apps)
        add_group(h, &h->apps, (struct health_group){app->id, health, 1});
}

void account_health_list(struct account_health *h, enum endpoint_health health, int64_t waiting,
                         struct str json)
{
    h->items = xgrow(h->items, &h->item_capacity, h->item_count + 1, sizeof *h->items);
    h->items[h->item_count++] = (struct health_item){health, waiting, arena_str(&h->arena, json)};
}

static int compare_groups(const void *a, const void *b)
{
    const struct health_group *x = a, *y = b;
    return str_cmp(x->id, y->id);
}

static int compare_items(const void *a, const void *b)
{
    const struct health_item *x = a, *y = b;
    if (x->health != y->health)
        return x->health < y->health ? -1 : 1;
    return (x->waiting < y->waiting) - (x->waiting > y->waiting);
}

/* One group for each id. */
static void join_groups(struct health_groups *groups)
{
    size_t kept = 0;
    if (groups->count > 0)
        qsort(groups->items, groups->count, sizeof *groups->items, compare_groups);
    for (size_t i = 0; i < groups->count; i++) {
        const struct health_group *next = &groups->items[i];
        struct health_group *last = kept > 0 ? &groups->items[kept - 1] : NULL;
        if (!last || !str_eq(last->id, next->id)) {
            groups->items[kept++] = *next;
            continue;
        }
        last->not_healthy += next->not_healthy;
        if (next->worst < last->worst)
            last->worst = next->worst;
    }
    groups->count = kept;
}

/* --- parts --------------------------------------------------------------------------------------
 *
 *     count HEALTH N          app ID WORST N          about APP_NO
 *     more                    partner ID WORST N      item HEALTH WAITING JSON
 *
 * HEALTH and WORST are numbers of enum endpoint_health. Nodes of one store run one version but for
 * the minutes of an upgrade: a line that is not understood is left out. */

static void print_groups(struct buf *to, const char *what, const struct health_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct health_group *g = &groups->items[i];
        buf_printf(to, "%s %.*s %d %lld\n", what, STR_ARG(g->id), (int)g->worst,
                   (long long)g->not_healthy);
    }
}

void account_health_print_part(struct buf *to, const struct account_health *h,
                               const uint32_t *app_nos, size_t app_count)
{
    for (int i = 0; i < ENDPOINT_HEALTHS; i++)
        buf_printf(to, "count %d %lld\n", i, (long long)h->counts[i]);
    print_groups(to, "app", &h->apps);
    print_groups(to, "partner", &h->partners);
    for (size_t i = 0; i < app_count; i++)
        buf_printf(to, "about %u\n", app_nos[i]);
    for (size_t i = 0; i < h->item_count; i++) {
        const struct health_item *item = &h->items[i];
        buf_printf(to, "item %d %lld %.*s\n", (int)item->health, (long long)item->waiting,
                   STR_ARG(item->json));
    }
    if (h->more)
        buf_add_c(to, "more\n");
}

static int64_t cut_int(struct str *rest)
{
    uint64_t n;
    return str_parse_uint(str_cut(rest, ' '), INT64_MAX, &n) ? (int64_t)n : 0;
}

static enum endpoint_health cut_health(struct str *rest)
{
    int64_t n = cut_int(rest);
    return n < ENDPOINT_HEALTHS ? (enum endpoint_health)n : ENDPOINT_UNKNOWN;
}

static struct health_group cut_group(struct str *rest)
{
    struct health_group group = {.id = str_cut(rest, ' ')};
    group.worst = cut_health(rest);
    group.not_healthy = cut_int(rest);
    return group;
}

void account_health_part_apps(struct str part, void (*is_about)(void *context, uint32_t app_no),
                              void *context)
{
    while (part.p) {
        struct str line = str_cut(&part, '\n');
        if (str_is(str_cut(&line, ' '), "about"))
            is_about(context, (uint32_t)cut_int(&line));
    }
}

void account_health_add_part(struct account_health *h, struct str part)
{
    while (part.p) {
        struct str line = str_cut(&part, '\n'), what = str_cut(&line, ' ');
        if (str_is(what, "count")) {
            enum endpoint_health health = cut_health(&line);
            h->counts[health] += cut_int(&line);
        } else if (str_is(what, "app")) {
            add_group(h, &h->apps, cut_group(&line));
        } else if (str_is(what, "partner")) {
            add_group(h, &h->partners, cut_group(&line));
        } else if (str_is(what, "item")) {
            enum endpoint_health health = cut_health(&line);
            int64_t waiting = cut_int(&line);
            account_health_list(h, health, waiting, line);
        } else if (str_is(what, "more")) {
            h->more = true;
        }
    }
}

/* --- the answer --------------------------------------------------------------------------------
 */

static void render_groups(struct json_writer *w, const char *key, const char *id_key,
                          struct health_groups *groups)
{
    join_groups(groups);
    json_key_array(w, key);
    for (size_t i = 0; i < groups->count; i++) {
        const struct health_group *g = &groups->items[i];
        json_object(w);
        json_key_string(w, id_key, g->id);
        json_key_c(w, "Worst", endpoint_health_name(g->worst));
        json_key_int(w, "NotHealthy", g->not_healthy);
        json_end_object(w);
    }
    json_end_array(w);
}

void account_health_print(struct json_writer *w, struct account_health *h)
{
    if (h->item_count > 0)
        qsort(h->items, h->item_count, sizeof *h->items, compare_items);
    size_t listed = h->item_count < ACCOUNT_HEALTH_LISTED ? h->item_count : ACCOUNT_HEALTH_LISTED;
    json_object(w);
    json_key_object(w, "States");
    for (int i = 0; i < ENDPOINT_HEALTHS; i++)
        json_key_int(w, endpoint_health_name((enum endpoint_health)i), h->counts[i]);
    json_end_object(w);
    render_groups(w, "Partners", "PartnerId", &h->partners);
    render_groups(w, "Apps", "AppId", &h->apps);
    json_key_array(w, "NotHealthy");
    for (size_t i = 0; i < listed; i++)
        json_raw(w, h->items[i].json);
    json_end_array(w);
    json_key_bool(w, "More", h->more || listed < h->item_count);
    json_end_object(w);
}
