/* Whether a start could replay the journal, for `postbackd check`: it reads what the start would
 * read, and changes nothing. A daemon that runs writes and reuses the files meanwhile, so nothing
 * is said beside one. */
#include "base/alloc.h"
#include "base/buf.h"
#include "store/journal/journal.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store_directory.h"
#include "store/sqlite/store_identity.h"
#include "store/store_open.h"

#include <stdlib.h>
#include <unistd.h>

static bool pass_over(void *context, struct str records, struct journal_position end)
{
    (void)context, (void)records, (void)end;
    return true;
}

static bool check_journal(struct sql *q, const char *directory, char **ret_why)
{
    struct disk *disk = disk_real();
    struct journal_position from = meta_get_position(q);
    uint64_t id = identity_journal_id(q);
    if (sql_failed(q)) {
        *ret_why = xstrdup(q->why);
        return false;
    }
    if (from.segment == 0 && access(directory, F_OK) != 0)
        return true; /* the start makes it: a restored backup */
    return identity_check_journal(q, disk, directory, ret_why) &&
           journal_read(disk, directory, id, from, pass_over, NULL, ret_why);
}

bool sqlite_store_check_journal(const char *directory, char **ret_why)
{
    if (store_directory_is_used(directory))
        return true;
    struct sql q = {0};
    char *database = xprintf("%s/postbackd.db", directory);
    char *journal_directory = xprintf("%s/journal", directory);
    bool good = sql_open(&q, database, NULL, false, ret_why) &&
                check_journal(&q, journal_directory, ret_why);
    sql_close(&q);
    free(journal_directory);
    free(database);
    return good;
}

bool sqlite_store_check_files(const char *directory, char **ret_why)
{
    char *database = xprintf("%s/postbackd.db", directory);
    char *journal_directory = xprintf("%s/journal", directory);
    bool good = store_directory_is_used(directory) ||
                identity_check_files(disk_real(), database, journal_directory, ret_why);
    free(journal_directory);
    free(database);
    return good;
}
