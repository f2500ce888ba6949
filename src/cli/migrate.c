/* postbackd migrate: upgrades a store's tables to this version, or prints what that would
 * change. */
#include "cli/command.h"
#include "cli/store_name.h"
#include "store/store_open.h"

#include <stdio.h>
#include <stdlib.h>

static int failed(char *why)
{
    int status = command_fail(1, "%s", why);
    free(why);
    return status;
}

/* --- PostgreSQL ------------------------------------------------------------------------------- */

struct telling {
    bool only_look;
    int missing, last;
};

static void tell_step(void *context, const struct store_step *step)
{
    struct telling *t = context;
    bool makes = !step->was_made;
    printf("%3d  %-9s %-8s %s\n", step->version, step->contracts ? "contract" : "expand",
           !makes         ? "there"
           : t->only_look ? "to make"
                          : "made",
           step->what);
    t->missing += makes;
    t->last = step->version;
}

static int migrate_postgresql(const char *uri, bool only_look)
{
    struct telling t = {.only_look = only_look};
    char *why = NULL;
    if (!postgresql_store_migrate(uri, only_look, tell_step, &t, &why))
        return failed(why);
    if (t.missing == 0)
        printf("schema version %d: nothing to do\n", t.last);
    else
        printf("schema version %d: %d step%s %s\n", t.last, t.missing, t.missing == 1 ? "" : "s",
               only_look ? "to make" : "made");
    return 0;
}

/* --- SQLite ----------------------------------------------------------------------------------- */

static int open_and_close(const char *directory)
{
    struct sqlite_store_options options = {
        .directory = directory,
        .disk = disk_real(),
        .env = env_real(),
    };
    char *why = NULL;
    struct store *store = sqlite_store_open(&options, &why);
    if (!store)
        return failed(why);
    store_close(store);
    return 0;
}

static int migrate_sqlite(const char *directory, bool only_look)
{
    int version, known = sqlite_store_version_known();
    char *why = NULL;
    if (!sqlite_store_version(directory, &version, &why))
        return failed(why);
    if (version == 0)
        return command_fail(1, "there is no store in %s.", directory);
    int status = version < known && !only_look ? open_and_close(directory) : 0;
    if (status == 0 && version == known)
        printf("schema version %d: nothing to do\n", known);
    else if (status == 0)
        printf("schema version %d: %s %d\n", version, only_look ? "to be brought to" : "brought to",
               known);
    return status;
}

int command_migrate(struct settings *s)
{
    bool only_look = str_is(settings_text(s, OPTION_DRY_RUN), "true");
    struct store_name name;
    struct str why;
    if (!store_name_read(s, OPTION_STORE, &name, &why))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    return name.uri ? migrate_postgresql(name.uri, only_look)
                    : migrate_sqlite(name.directory, only_look);
}
