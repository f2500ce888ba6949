/* Accepts the e-mail addresses that SMTP commands and mail headers can hold. */
#include "domain/email.h"

#define LOCAL_BYTES_MAX 64 /* RFC 5321, section 4.5.3.1.1 */
#define LABEL_BYTES_MAX 63 /* RFC 1035, section 2.3.4 */

/* Letters beyond ASCII count as letters, so that email_fault can name them as the fault. */
static bool is_letter_or_digit(char c)
{
    return char_is_letter_or_digit(c) || (unsigned char)c >= 0x80;
}

/* Parts with a dot between two of them; a part of a domain neither begins nor ends with '-'. */
static bool is_dotted(struct str text, const char *others, bool is_domain)
{
    while (text.p) {
        struct str part = str_cut(&text, '.');
        if (!part.n || (is_domain && (part.n > LABEL_BYTES_MAX || part.p[0] == '-' ||
                                      part.p[part.n - 1] == '-')))
            return false;
        for (size_t i = 0; i < part.n; i++)
            if (!is_letter_or_digit(part.p[i]) && !memchr(others, part.p[i], strlen(others)))
                return false;
    }
    return true;
}

const char *email_fault(struct str text)
{
    struct str domain = text, local = str_cut(&domain, '@');
    bool is_ascii = true;
    for (size_t i = 0; i < text.n; i++)
        is_ascii = is_ascii && (unsigned char)text.p[i] < 0x80;
    _Static_assert(EMAIL_BYTES_MAX == 254, "as the sentence says");
    if (text.n > EMAIL_BYTES_MAX || local.n > LOCAL_BYTES_MAX || !local.n || !domain.n ||
        !is_dotted(local, "!#$%&'*+-/=?^_`{|}~", false) || !is_dotted(domain, "-", true))
        return "must be an e-mail address, name@domain, of at most 254 bytes";
    return is_ascii ? NULL : "must be in ASCII, a domain of other letters as xn--...";
}

struct str email_lower(struct arena *arena, struct str text)
{
    char *lower = arena_alloc(arena, text.n);
    for (size_t i = 0; i < text.n; i++)
        lower[i] = char_lower(text.p[i]);
    return (struct str){lower, text.n};
}
