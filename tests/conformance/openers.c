/* Opens each kind of store by its name. */
#include "openers.h"

#include "base/alloc.h"

#include <dirent.h>
#include <libpq-fe.h>
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
    remove_tree(s->context);
    free(s->context);
    s->context = NULL;
}

static void opener_sqlite(struct subject *ret)
{
    *ret = (struct subject){
        .name = "sqlite", .open = open_sqlite, .clean = clean_sqlite, .keeps = true};
}

/* --- PostgreSQL, in the database that SCENARIO_POSTGRESQL names ------------------------------- */

static struct store *open_postgresql(struct subject *s)
{
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

/* Everything that was made in the database: it is the test's own. */
static void clean_postgresql(struct subject *s)
{
    PGconn *c = PQconnectdb(s->context);
    PGresult *r = PQexec(c, "SET client_min_messages=error;"
                            "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fprintf(stderr, "%s\n", PQerrorMessage(c));
    ASSERT(PQresultStatus(r) == PGRES_COMMAND_OK);
    PQclear(r);
    PQfinish(c);
}

static bool opener_postgresql(struct subject *ret)
{
    char *uri = getenv("SCENARIO_POSTGRESQL");
    if (!uri) {
        fprintf(stderr, "SCENARIO_POSTGRESQL is not set: tests/scenario/postgresql.py run ...\n");
        return false;
    }
    *ret = (struct subject){.name = "postgresql",
                            .open = open_postgresql,
                            .clean = clean_postgresql,
                            .context = uri,
                            .keeps = true};
    clean_postgresql(ret);
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
    else
        return false;
    return true;
}
