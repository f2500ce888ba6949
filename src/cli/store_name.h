/* The store that an option names: sqlite:DIR or postgresql://... */
#pragma once

#include "cli/option.h"

struct store_name {
    const char *uri;       /* of PostgreSQL; NULL: SQLite */
    const char *directory; /* of SQLite */
};

/* False: *ret_why is a sentence in the arena, with the password of a URI masked. */
MUST_CHECK bool store_name_read(struct settings *s, enum option_id id, struct store_name *ret,
                                struct str *ret_why);
/* The same for --store and --to. */
MUST_CHECK bool store_names_read(struct settings *s, struct store_name *ret_from,
                                 struct store_name *ret_to, struct str *ret_why);
