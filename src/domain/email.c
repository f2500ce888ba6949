/* E-mail addresses, checked only as far as a mail server needs it. */
#include "domain/email.h"

const char *email_fault(struct str text)
{
    struct str domain = text, local = str_cut(&domain, '@');
    bool is_ascii = true, good = text.n <= EMAIL_BYTES_MAX && local.n > 0 && domain.n > 0 &&
                                 !memchr(domain.p, '@', domain.n);
    for (size_t i = 0; i < text.n && good; i++) {
        unsigned char c = (unsigned char)text.p[i];
        good = c > 0x20 && c != 0x7f && c != '<' && c != '>';
        is_ascii = is_ascii && c < 0x80;
    }
    _Static_assert(EMAIL_BYTES_MAX == 254, "as the sentence says");
    if (!good)
        return "must be an e-mail address of at most 254 bytes";
    return is_ascii ? NULL : "must be in ASCII, a domain of other letters as xn--...";
}

struct str email_lower(struct arena *arena, struct str text)
{
    char *lower = arena_alloc(arena, text.n);
    for (size_t i = 0; i < text.n; i++)
        lower[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + 32 : text.p[i]);
    return (struct str){lower, text.n};
}
