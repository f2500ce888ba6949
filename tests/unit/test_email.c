/* Which texts are e-mail addresses. */
#include "domain/email.h"

#include "check.h"

static void addresses_are_taken(void)
{
    static const char *const good[] = {
        "a@b",
        "ops@partner.example",
        "First.Last+tag@sub-1.partner.example",
        "!#$%&'*+-/=?^_`{|}~@x",
        "o'hara@xn--bcher-kva.example",
        "1234567890123456789012345678901234567890123456789012345678901234@b.example",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK_CSTR(email_fault(str_of(good[i])) ? good[i] : "", "");
}

static void others_are_refused(void)
{
    static const char *const bad[] = {
        "",
        "a",
        "@b",
        "a@",
        "a@b@c",
        "a b@c",
        "a@b c",
        "<a@b>",
        ".a@b",
        "a.@b",
        "a..b@c",
        "a@.b",
        "a@b.",
        "a@b..c",
        "a@-b",
        "a@b-.c",
        "a@b_c",
        "a,b@c",
        "a;b@c",
        "a:b@c",
        "a(b)@c",
        "\"a\"@b",
        "a@[10.0.0.1]",
        "a\\b@c",
        "a@b,c@d",
        "a@b:25",
        "a@b/c",
        "a\r\nb@c",
        "a@b\x7f",
        "\xc3\xbc@b",
        "a@b\xc3\xbc",
        "12345678901234567890123456789012345678901234567890123456789012345@b.example",
        "a@1234567890123456789012345678901234567890123456789012345678901234.example",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_CSTR(email_fault(str_of(bad[i])) ? "" : bad[i], "");
    CHECK(email_fault(STR_NONE) != NULL);
}

static void no_address_is_longer_than_mail_allows(void)
{
    char text[EMAIL_BYTES_MAX + 1];
    memset(text, 'a', sizeof text);
    for (size_t i = 1; i < sizeof text; i += 2)
        text[i] = i == 1 ? '@' : '.';
    CHECK(email_fault((struct str){text, EMAIL_BYTES_MAX - 1}) == NULL);
    CHECK(email_fault((struct str){text, EMAIL_BYTES_MAX + 1}) != NULL);
}

int main(void)
{
    RUN(addresses_are_taken);
    RUN(others_are_refused);
    RUN(no_address_is_longer_than_mail_allows);
    return check_done("email");
}
