/* Parses an option that names a store. */
#include "cli/store_name.h"

#include "base/buf.h"
#include "domain/url.h"

bool store_name_read(struct settings *s, enum option_id id, struct store_name *ret,
                     struct str *ret_why)
{
    struct str text = settings_text(s, id);
    struct buf why = {0};
    *ret = (struct store_name){0};
    if (str_has_prefix(text, "postgresql://") || str_has_prefix(text, "postgres://"))
        ret->uri = text.p; /* the arena's copies end with a NUL */
    else if (str_has_prefix(text, "sqlite:") && text.n > strlen("sqlite:"))
        ret->directory = text.p + strlen("sqlite:");
    else if (!text.p)
        buf_printf(&why, "--%s needs sqlite:DIR or postgresql://...", option_table[id].name);
    else {
        settings_print_place(&why, s, id, text);
        url_print_text_masked(&why, text);
        buf_add_c(&why, str_is(text, "sqlite:") ? " names no directory; write sqlite:DIR"
                                                : ": neither sqlite:DIR nor postgresql://...");
    }
    if (why.n)
        *ret_why = arena_take(&s->arena, &why);
    return ret->uri || ret->directory;
}

bool store_names_read(struct settings *s, struct store_name *ret_from, struct store_name *ret_to,
                      struct str *ret_why)
{
    return store_name_read(s, OPTION_STORE, ret_from, ret_why) &&
           store_name_read(s, OPTION_TO, ret_to, ret_why);
}
