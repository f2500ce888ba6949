/* postbackd backup FILE: copies a store, also one in use, into a new file. store/store_open.h says
 * what the copy contains, store/sqlite/sqlite_backup.c how it is consistent while a daemon runs. */
#include "cli/command.h"
#include "cli/store_name.h"
#include "store/store_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int command_backup(struct settings *s)
{
    if (s->operand_count != 1)
        return command_fail(EXIT_USAGE, "backup needs one FILE to make.");
    struct store_name store;
    struct str wrong;
    if (!store_name_read(s, OPTION_STORE, &store, &wrong))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(wrong));
    if (store.uri)
        return command_fail(EXIT_USAGE, "backup copies sqlite:DIR; for a store on PostgreSQL use "
                                        "pg_basebackup with WAL archiving, or pg_dump.");
    umask(077); /* the copy holds people's ids: nobody else's to read */
    char *why = NULL;
    struct damaged_pages damaged;
    const char *file = s->operands[0].p;
    if (!sqlite_store_backup(store.directory, disk_real(), file, &damaged, &why)) {
        int status = command_fail(1, "%s", why);
        free(why);
        return status;
    }
    if (damaged.count)
        return command_fail(1,
                            "%s: copied, but the disk has changed %lld pages of the store, the "
                            "first at offset %lld of postbackd.db, and the copy has them as they "
                            "are: keep an older backup and see docs/operators/scrub.md.",
                            file, (long long)damaged.count, (long long)damaged.first_offset);
    printf("%s: copied and checked\n", file);
    return 0;
}
