/* Opens and closes a connection: to the server of the URI that can be written, and that has the
 * store's identity. */
#include "store/postgresql/pg_connect.h"

#include "base/env.h"

#include <string.h>

void pg_init(struct pg *pg, const char *uri)
{
    *pg = (struct pg){.uri = uri,
                      .server = "read-write",
                      .trip_ms = PG_TRIP_TIMEOUT_MS,
                      .long_trip_ms = PG_LONG_TRIP_TIMEOUT_MS,
                      .stream = -1};
}

void pg_clear_results(struct pg *pg)
{
    for (int i = 0; i < PG_STATEMENTS_MOST; i++) {
        PQclear(pg->results[i]);
        pg->results[i] = NULL;
    }
}

void pg_disconnect(struct pg *pg)
{
    PQfinish(pg->connection);
    pg->connection = NULL;
    pg->in_transaction = false;
    pg->sent = 0;
    pg->stream = -1;
    prepared_forget(&pg->prepared);
}

void pg_close(struct pg *pg)
{
    pg_clear_results(pg);
    pg_disconnect(pg);
    buf_free(&pg->why);
    args_free(&pg->args);
}

static void add_why(struct pg *pg, const char *text)
{
    size_t n = strlen(text);
    if (pg->why.n > 0)
        buf_add_char(&pg->why, ' ');
    while (n > 0 && text[n - 1] == '\n')
        n--;
    for (size_t i = 0; i < n; i++)
        buf_add_char(&pg->why, text[i] == '\n' ? ' ' : text[i]);
    (void)buf_c(&pg->why);
}

void pg_set_why(struct pg *pg, const char *text)
{
    buf_clear(&pg->why);
    add_why(pg, text);
}

/* --- connecting ------------------------------------------------------------------------------- */

/* libpq would print notices such as "already exists, skipping". One matters: the server does not
 * fail a COMMIT whose wait for a standby was cancelled, it only warns. The function's name is the
 * same in every language. */
static void take_notice(void *context, const PGresult *notice)
{
    struct pg *pg = context;
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (function && strcmp(function, "SyncRepWaitForLSN") == 0)
        pg->standby_skipped = true;
}

int64_t pg_give_up_mono_ms(const struct pg *pg)
{
    return pg->give_up_mono_ms ? atomic_load(pg->give_up_mono_ms) : 0;
}

/* A URI may override the parameters before "dbname", but not those after it. */
static PGconn *open_connection(const struct pg *pg, const struct pg_host *host)
{
    static const char *const names[] = {
        "connect_timeout",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "fallback_application_name",
        "target_session_attrs",
        "dbname",
        "target_session_attrs",
        "client_encoding",
        "host",
        "hostaddr",
        "port",
        NULL,
    };
    bool is_short = pg_give_up_mono_ms(pg) || pg->trip_ms <= PG_TRIP_SHORT_MS;
    const char *const values[] = {is_short ? NUMBER_AS_TEXT(PG_CONNECT_SHORT_S)
                                           : NUMBER_AS_TEXT(PG_CONNECT_TIMEOUT_S),
                                  "10",
                                  "5",
                                  "3",
                                  "20000",
                                  "postbackd",
                                  pg->server,
                                  pg->uri,
                                  strcmp(pg->server, "any") == 0 ? "any" : NULL,
                                  "UTF8",
                                  host ? host->name : NULL,
                                  host ? host->address : NULL,
                                  host ? host->port : NULL,
                                  NULL};
    return PQconnectdbParams(names, values, 1);
}

static void add_why_not_connected(struct pg *pg)
{
    const char *text = PQerrorMessage(pg->connection);
    bool is_only = !pg->hosts || pg->hosts->count == 0;
    add_why(pg, text);
    if (is_only && strstr(text, "session is read-only")) /* libpq's words; the locale is C */
        add_why(pg, "It is a standby, or its database was moved to another server: name the one"
                    " in use.");
}

/* host NULL: any host of the URI. */
static bool connect_to(struct pg *pg, const struct pg_host *host)
{
    pg->connection = open_connection(pg, host);
    (void)PQsetNoticeReceiver(pg->connection, take_notice, pg);
    bool good = PQstatus(pg->connection) == CONNECTION_OK && PQenterPipelineMode(pg->connection) &&
                PQsetnonblocking(pg->connection, 1) == 0;
    if (!good)
        add_why_not_connected(pg);
    if (good && (!pg->identity || pg_identity_is(pg, pg->identity)))
        return true;
    pg_disconnect(pg);
    return false;
}

static void forget_connection(struct pg *pg)
{
    pg_clear_results(pg);
    pg_disconnect(pg);
    buf_clear(&pg->why);
}

bool pg_connect_to_host(struct pg *pg, int host)
{
    const char *server = pg->server;
    forget_connection(pg);
    pg->server = "any";
    bool good = connect_to(pg, &pg->hosts->hosts[host]);
    pg->server = server;
    return good;
}

static bool connect_to_any(struct pg *pg)
{
    for (int n = 0; n < pg->hosts->count; n++) {
        int host = pg_hosts_nth(pg->hosts, n);
        int64_t begin_ms = env_mono_ms(env_real());
        if (!pg_hosts_try(pg->hosts, host, begin_ms))
            continue;
        int before = atomic_load(&pg->hosts->primary);
        pg->host = host;
        bool good = connect_to(pg, &pg->hosts->hosts[host]);
        int64_t now_ms = env_mono_ms(env_real());
        pg_hosts_tried(pg->hosts, host, before, good, now_ms - begin_ms, now_ms);
        if (good)
            return true;
    }
    if (pg->why.n == 0)
        pg_set_why(pg, "none of the database's servers answers");
    return false;
}

bool pg_connect(struct pg *pg)
{
    if (pg->connection && PQstatus(pg->connection) == CONNECTION_OK &&
        !pg_hosts_moved_from(pg->hosts, pg->host))
        return true;
    forget_connection(pg);
    return pg->hosts && pg->hosts->count > 0 ? connect_to_any(pg) : connect_to(pg, NULL);
}
