/* Which messages a person wants by e-mail, and when. Kept with the user. */
#pragma once

#include "base/check.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Stored by name. user_has_mail (user_record.h) says who gets which. */
enum mail_about {
    MAIL_ABOUT_ENDPOINTS,
    MAIL_ABOUT_CERTIFICATES,
    MAIL_ABOUT_STATEMENTS,
    MAIL_ABOUT_BOOKS,
};
#define MAIL_ABOUTS 4

enum mail_when {
    MAIL_NEVER = 0, /* the default: no mail without a choice */
    MAIL_AT_ONCE = 1,
    MAIL_DAILY = 2,
};

const char *mail_about_name(enum mail_about about); /* "Endpoints" */
const char *mail_when_name(enum mail_when when);    /* "at_once" */
/* False: *ret is unchanged. */
MUST_CHECK bool mail_when_parse(struct str name, enum mail_when *ret);
/* The time of the next daily mail after that wall time; minute: of each day (UTC, 0 to 1439). */
int64_t mail_daily_after_ms(int64_t wall_ms, int32_t minute);
