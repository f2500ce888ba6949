/* E-mail addresses, checked only as far as a mail server needs it. */
#include "domain/email.h"

bool email_valid(struct str text)
{
    struct str domain = text, local = str_cut(&domain, '@');
    bool good = text.n <= EMAIL_BYTES_MAX && local.n > 0 && domain.n > 0 &&
                !memchr(domain.p, '@', domain.n);
    for (size_t i = 0; i < text.n && good; i++)
        good = (unsigned char)text.p[i] > 0x20 && text.p[i] != 0x7f && text.p[i] != '<' &&
               text.p[i] != '>';
    return good;
}

struct str email_lower(struct arena *arena, struct str text)
{
    char *lower = arena_alloc(arena, text.n);
    for (size_t i = 0; i < text.n; i++)
        lower[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + 32 : text.p[i]);
    return (struct str){lower, text.n};
}
