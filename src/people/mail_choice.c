/* Names and times; see mail_choice.h. */
#include "people/mail_choice.h"

#include "domain/clock.h"

const char *mail_about_name(enum mail_about about)
{
    switch (about) {
    case MAIL_ABOUT_ENDPOINTS: return "Endpoints";
    case MAIL_ABOUT_CERTIFICATES: return "Certificates";
    case MAIL_ABOUT_STATEMENTS: return "Statements";
    case MAIL_ABOUT_BOOKS: return "Books";
    }
    UNREACHABLE();
}

const char *mail_when_name(enum mail_when when)
{
    switch (when) {
    case MAIL_NEVER: return "never";
    case MAIL_AT_ONCE: return "at_once";
    case MAIL_DAILY: return "daily";
    }
    UNREACHABLE();
}

bool mail_when_parse(struct str name, enum mail_when *ret)
{
    for (int when = MAIL_NEVER; when <= MAIL_DAILY; when++) {
        if (str_is(name, mail_when_name((enum mail_when)when))) {
            *ret = (enum mail_when)when;
            return true;
        }
    }
    return false;
}

int64_t mail_daily_after_ms(int64_t wall_ms, int32_t minute)
{
    ASSERT(wall_ms >= 0 && minute >= 0 && minute < 24 * 60);
    int64_t at = wall_ms - wall_ms % DAY_MS + minute * MINUTE_MS;
    return at > wall_ms ? at : at + DAY_MS;
}
