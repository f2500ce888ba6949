/* Classes of SQLSTATE (PostgreSQL's manual, appendix "Error Codes"). */
#include "store/postgresql/sqlstate.h"

#include "base/check.h"

#include <stddef.h>
#include <string.h>

/* The first two characters are the class. */
static bool is_one_of(const char *sqlstate, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(sqlstate, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

enum pg_fate sqlstate_fate(const char *sqlstate)
{
    static const char *const lost[] = {
        "08",    "57P", /* the connection, the server shutting down */
        "25P03",        /* idle in a transaction for too long */
        "25006",        /* read only: the server is a standby by now, another may be the primary */
        "40003",        /* unknown whether the statement completed */
    };
    static const char *const passing[] = {
        "40",    /* deadlock, serialization */
        "55P03", /* lock timeout */
        "55006", /* object in use */
        "57014", /* statement timeout, or cancelled by hand */
        "53",    /* out of disk, memory, connections */
        "58030", /* I/O error */
    };
    if (is_one_of(sqlstate, lost, ARRAY_LEN(lost)))
        return PG_LOST;
    if (is_one_of(sqlstate, passing, ARRAY_LEN(passing)))
        return PG_NOT_NOW;
    return PG_REFUSED;
}

bool sqlstate_is_disk_full(const char *sqlstate)
{
    return strcmp(sqlstate, "53100") == 0;
}

bool sqlstate_lacks_partition(const char *sqlstate)
{
    return strcmp(sqlstate, "23514") == 0;
}

bool sqlstate_is_of_data(const char *sqlstate)
{
    return strncmp(sqlstate, "22", 2) == 0;
}

bool sqlstate_is_internal(const char *sqlstate)
{
    return strncmp(sqlstate, "XX", 2) == 0;
}
