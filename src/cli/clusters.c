/* postbackd clusters: prints each cluster's address, fill level and move. */
#include "cli/command.h"
#include "cli/serve_options.h"
#include "cli/store_name.h"

#include "base/alloc.h"
#include "store/store_open.h"

#include <inttypes.h>
#include <stdlib.h>

#define COLUMNS 9

struct row {
    struct str cells[COLUMNS];
};

static const char *const titles[COLUMNS] = {"cluster", "server", "database", "partners", "events",
                                            "waiting", "size",   "recent",   "state"};

static void print_size(struct buf *to, int64_t bytes)
{
    buf_printf(to, bytes < 10000000000 ? "%.2f GB" : "%.0f GB", (double)bytes / 1e9);
}

static struct str number(struct arena *a, int64_t n)
{
    struct buf text = {0};
    if (n == CLUSTER_UNKNOWN)
        return STR("?");
    buf_printf(&text, "%" PRId64, n);
    return arena_take(a, &text);
}

static struct str size(struct arena *a, int64_t bytes)
{
    struct buf text = {0};
    if (bytes == CLUSTER_UNKNOWN)
        return STR("?");
    print_size(&text, bytes);
    return arena_take(a, &text);
}

static struct row row_of(struct arena *a, const struct cluster_state *c)
{
    struct buf state = {0};
    cluster_state_print(&state, c);
    return (struct row){{
        number(a, c->number),
        *c->away ? STR("-") : str_of(c->server),
        *c->away ? STR("-") : str_of(c->database),
        number(a, c->partners),
        number(a, c->events),
        number(a, c->waiting),
        size(a, c->bytes),
        number(a, c->recent_events),
        arena_take(a, &state),
    }};
}

/* Width in columns of a terminal: names may be other than ASCII, and most characters of four bytes
 * are wide. */
static size_t width_of(struct str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)text.p[i];
        if ((byte & 0xC0) != 0x80)
            width += byte >= 0xF0 ? 2 : 1;
    }
    return width;
}

static void print_rows(const struct row *rows, size_t count)
{
    size_t widths[COLUMNS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            if (width_of(rows[i].cells[k]) > widths[k])
                widths[k] = width_of(rows[i].cells[k]);
    for (size_t i = 0; i < count; i++) {
        struct buf line = {0};
        for (size_t k = 0; k < COLUMNS; k++) {
            struct str cell = rows[i].cells[k];
            bool is_last = k == COLUMNS - 1, is_name = k == 1 || k == 2 || is_last;
            int blank = is_last ? 0 : (int)(widths[k] - width_of(cell));
            buf_printf(&line, "%*s%.*s%*s", is_name ? 0 : blank, "", STR_ARG(cell),
                       (is_name ? blank : 0) + (is_last ? 0 : 2), "");
        }
        command_say(stdout, "%s", buf_c(&line));
        buf_free(&line);
    }
}

/* Prints each server with several clusters once. */
static void say_shared(const struct cluster_state *clusters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *system = clusters[i].system;
        struct buf others = {0};
        bool is_first = *system && !*clusters[i].away;
        for (size_t k = 0; k < count && is_first; k++) {
            bool same = !*clusters[k].away && strcmp(clusters[k].system, system) == 0;
            is_first = !same || k >= i;
            if (same && k > i)
                buf_printf(&others, " and %zu", k);
        }
        if (is_first && others.n)
            command_say(stdout, "on one server: clusters %zu%s, on %s", i, buf_c(&others),
                        clusters[i].server);
        buf_free(&others);
    }
}

static void say_hint(const struct cluster_state *clusters, size_t count)
{
    struct buf bytes = {0};
    int which = cluster_to_move(clusters, count);
    if (which < 0)
        return;
    print_size(&bytes, clusters[which].bytes);
    command_say(stdout,
                "to even out: move cluster %d (%s, %d %% of the events) from %s to a server of its "
                "own",
                which, buf_c(&bytes), cluster_event_percent(clusters, count, (size_t)which),
                clusters[which].server);
    buf_free(&bytes);
}

static int show(const char *const *uris, size_t count)
{
    struct cluster_state *clusters = xcalloc(count, sizeof *clusters);
    struct row rows[1 + CLUSTERS_MOST];
    struct arena arena = {0};
    int status = 0;
    for (size_t k = 0; k < COLUMNS; k++)
        rows[0].cells[k] = str_of(titles[k]);
    postgresql_clusters_look(uris, count, clusters);
    for (size_t i = 0; i < count; i++) {
        rows[1 + i] = row_of(&arena, &clusters[i]);
        status |= *clusters[i].away != '\0';
    }
    print_rows(rows, 1 + count);
    say_shared(clusters, count);
    say_hint(clusters, count);
    arena_free(&arena);
    free(clusters);
    return status;
}

int command_clusters(struct settings *s)
{
    struct daemon_options o = {0};
    struct store_name name;
    struct str why;
    if (!store_name_read(s, OPTION_STORE, &name, &why) ||
        !serve_options_read_clusters(s, &o, name.uri, &why))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    if (!name.uri) {
        command_say(stdout, "sqlite:%s is one file on one machine: there are no clusters.",
                    name.directory);
        return 0;
    }
    const char *uris[CLUSTERS_MOST] = {name.uri};
    for (size_t i = 0; i < o.cluster_count; i++)
        uris[1 + i] = o.cluster_uris[i];
    return show(uris, 1 + o.cluster_count);
}
