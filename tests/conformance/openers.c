/* Opens each kind of store by its name. */
#include "openers.h"
#include "world.h"

#include "base/alloc.h"
#include "memory_store/memory_store.h"
#include "store/postgresql/pack_keys.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"

#include <dirent.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct store *open_memory(struct subject *s)
{
    return memory_store_open(&s->env->env);
}

void opener_memory(struct subject *ret)
{
    *ret = (struct subject){.name = "memory", .open = open_memory};
}

/* --- SQLite, in a directory of its own ------------------------------------------------------ */

static struct store *open_sqlite(struct subject *s)
{
    if (!s->context) {
        /* In memory where that can be had: dozens of journals of pre-written segments. */
        bool shm = access("/dev/shm", W_OK) == 0;
        s->context = xstrdup(shm ? "/dev/shm/postbackd-conformance-XXXXXX"
                                 : "/tmp/postbackd-conformance-XXXXXX");
        ASSERT(mkdtemp(s->context) != NULL);
    }
    struct sqlite_store_options o = {
        .directory = s->context,
        .disk = disk_real(),
        .env = &s->env->env,
        .retention = {.bodies_days = 90, .attempts_days = 30, .panelists_days = 91},
    };
    char *why = NULL;
    struct store *store = sqlite_store_open(&o, &why);
    if (!store)
        fprintf(stderr, "%s\n", why);
    free(why);
    return store;
}

/* Files, and the directories of files below. */
static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    ASSERT(dir != NULL);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char inner[512];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR)
            remove_tree(inner);
        else
            unlink(inner);
    }
    closedir(dir);
    rmdir(path);
}

static void clean_sqlite(struct subject *s)
{
    char *empty = xprintf("%s-empty", (const char *)s->context);
    if (access(empty, F_OK) == 0) /* of a history that went wrong */
        remove_tree(empty);
    free(empty);
    remove_tree(s->context);
    free(s->context);
    s->context = NULL;
}

/* The next segment of the journal may be renamed meanwhile: once. */
static void copy_tree(const char *from, const char *to)
{
    char *command =
        xprintf("mkdir -p '%s' && { cp -a '%s'/. '%s' 2>/dev/null || cp -a '%s'/. '%s'; }", to,
                from, to, from, to);
    ASSERT(system(command) == 0);
    free(command);
}

static char *empty_of(const struct subject *s)
{
    return xprintf("%s-empty", (const char *)s->context);
}

static void keep_empty_sqlite(struct subject *s)
{
    char *empty = empty_of(s);
    copy_tree(s->context, empty);
    free(empty);
}

/* All of its journal is there: a segment is let go when another one has been filled. */
static void replay_sqlite(const struct subject *s, struct subject *ret)
{
    *ret = (struct subject){
        .name = "replayed", .open = open_sqlite, .clean = clean_sqlite, .context = empty_of(s)};
    char *from = xprintf("%s/journal", (const char *)s->context);
    char *to = xprintf("%s/journal", (const char *)ret->context);
    remove_tree(to);
    copy_tree(from, to);
    free(from);
    free(to);
}

static void opener_sqlite(struct subject *ret)
{
    *ret = (struct subject){.name = "sqlite",
                            .open = open_sqlite,
                            .clean = clean_sqlite,
                            .keep_empty = keep_empty_sqlite,
                            .replay = replay_sqlite,
                            .keeps = true};
}

/* --- PostgreSQL, in the database that SCENARIO_POSTGRESQL names ------------------------------- */

/* Packs each key as soon as it is there, so that all tests find keys in both tables. */
static void *pack_for_ever(void *uri)
{
    struct pg pg;
    struct key_packer packer = {0};
    pg_init(&pg, uri);
    for (bool idle = true;; idle = true) {
        if (!pg_connect(&pg) || pack_keys(&pg, &packer, true, &idle) != PG_OK || idle)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return NULL;
}

static void pack_keys_of(const char *uri)
{
    static const char *packed[2];
    pthread_t thread;
    for (size_t i = 0; i < ARRAY_LEN(packed) && packed[i] != uri; i++) {
        if (packed[i])
            continue;
        packed[i] = uri;
        ASSERT(pthread_create(&thread, NULL, pack_for_ever, (void *)(uintptr_t)uri) == 0);
        return;
    }
}

static struct store *open_postgresql(struct subject *s)
{
    pack_keys_of(s->context);
    struct postgresql_store_options o = {
        .uri = s->context,
        .env = &s->env->env,
        .retention = {.bodies_days = 90, .attempts_days = 30, .panelists_days = 91},
    };
    char *why = NULL;
    struct store *store = postgresql_store_open(&o, &why);
    if (!store)
        fprintf(stderr, "%s\n", why);
    free(why);
    return store;
}

static void be_quiet(void *context, const char *notice)
{
    (void)context;
    (void)notice;
}

/* A deadlock, or a database in use: with what the server still ends of a store that was closed. */
static bool is_in_the_way(const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    return state && (strcmp(state, "40P01") == 0 || strcmp(state, "55006") == 0);
}

static void run_sql(const char *uri, const char *sql)
{
    PGconn *c = PQconnectdb(uri);
    PQsetNoticeProcessor(c, be_quiet, NULL);
    PGresult *r = PQexec(c, sql);
    for (int i = 0; i < 20 && is_in_the_way(r); i++) {
        PQclear(r);
        r = PQexec(c, sql);
    }
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fprintf(stderr, "%s\n", PQerrorMessage(c));
    ASSERT(PQresultStatus(r) == PGRES_COMMAND_OK);
    PQclear(r);
    PQfinish(c);
}

/* Everything that was made in the database: it is the test's own. */
static void clean_database(const char *uri)
{
    run_sql(uri, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
}

static void clean_postgresql(struct subject *s)
{
    clean_database(s->context);
}

static char *find_server(void)
{
    char *uri = getenv("SCENARIO_POSTGRESQL");
    if (!uri)
        fprintf(stderr, "SCENARIO_POSTGRESQL is not set: tests/scenario/postgresql.py run ...\n");
    return uri;
}

static bool opener_postgresql(struct subject *ret)
{
    char *uri = find_server();
    if (!uri)
        return false;
    *ret = (struct subject){.name = "postgresql",
                            .open = open_postgresql,
                            .clean = clean_postgresql,
                            .context = uri,
                            .keeps = true};
    clean_postgresql(ret);
    return true;
}

/* --- several clusters: two databases of that server, an account of the tests in each --------- */

struct both {
    const char *first;
    char second[512];
};

static bool has_clock(const char *uri)
{
    PGconn *c = PQconnectdb(uri);
    PGresult *r = PQexec(c, "SELECT FROM meta WHERE name='" PG_META_RETENTION_CLOCK "'");
    bool found = PQntuples(r) > 0;
    PQclear(r);
    PQfinish(c);
    return found;
}

static bool have_clocks(const struct subject *s)
{
    const struct both *both = s->context;
    return has_clock(both->first) && has_clock(both->second);
}

static struct store *open_clusters(struct subject *s)
{
    const struct both *both = s->context;
    const char *uris[] = {both->first, both->second};
    pack_keys_of(both->first);
    pack_keys_of(both->second);
    struct clusters_store_options o = {
        .uris = uris,
        .uri_count = 2,
        .each = {.env = &s->env->env,
                 .retention = {.bodies_days = 90, .attempts_days = 30, .panelists_days = 91}},
    };
    char *why = NULL;
    struct store *store = clusters_store_open(&o, &why);
    if (!store) {
        fprintf(stderr, "%s\n", why);
        free(why);
        return NULL;
    }
    store_place(store, ACCOUNT_B, 0, 1);
    store_place(store, ACCOUNT_B, APP_B1, 1);
    return store;
}

static void clean_clusters(struct subject *s)
{
    const struct both *both = s->context;
    clean_database(both->first);
    clean_database(both->second);
}

static bool opener_clusters(struct subject *ret)
{
    static struct both both;
    both.first = find_server();
    if (!both.first)
        return false;
    snprintf(both.second, sizeof both.second, "%s%sdbname=conformance_second", both.first,
             strchr(both.first, '?') ? "&" : "?");
    run_sql(both.first, "DROP DATABASE IF EXISTS conformance_second");
    run_sql(both.first, "CREATE DATABASE conformance_second");
    *ret = (struct subject){.name = "clusters",
                            .open = open_clusters,
                            .clean = clean_clusters,
                            .has_clock = have_clocks,
                            .context = &both,
                            .keeps = true};
    clean_clusters(ret);
    return true;
}

bool opener_find(const char *name, struct subject *ret)
{
    if (strcmp(name, "memory") == 0)
        opener_memory(ret);
    else if (strcmp(name, "sqlite") == 0)
        opener_sqlite(ret);
    else if (strcmp(name, "postgresql") == 0)
        return opener_postgresql(ret);
    else if (strcmp(name, "clusters") == 0)
        return opener_clusters(ret);
    else
        return false;
    return true;
}
