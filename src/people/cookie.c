/* cookie-string = name "=" value *( "; " name "=" value ), read leniently where browsers differ:
 * ignores blanks around a pair, and pairs without "=". The session that a cookie names:
 * api/person.c. */
#include "people/cookie.h"

struct str cookie_find(struct str header, const char *name)
{
    struct str found = STR_NONE;
    while (header.p) {
        struct str value = str_trim(str_cut(&header, ';'));
        struct str key = str_cut(&value, '=');
        if (!value.p || !str_is(key, name))
            continue;
        if (found.p && !str_eq(found, value))
            return STR_NONE;
        found = value;
    }
    return found;
}
