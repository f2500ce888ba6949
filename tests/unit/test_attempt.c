/* What is said of an answer's status fits the request that was answered. */
#include "domain/attempt.h"

#include "check.h"

static struct str fix_of(int status, enum request_format format)
{
    return str_of(attempt_fix(ATTEMPT_STATUS, status, format));
}

static struct str text_of(int status, enum request_format format)
{
    return str_of(attempt_status_text(status, format));
}

static void speaks_of_the_request_that_was_made(void)
{
    CHECK(str_is(text_of(405, REQUEST_GET), "the path does not accept GET"));
    CHECK(str_has_prefix(fix_of(405, REQUEST_GET), "Route GET to the path."));
    CHECK(str_has_prefix(fix_of(405, REQUEST_FORM), "Route POST to the path."));
    for (int format = 0; format <= REQUEST_FORMAT_LAST; format++) {
        const char *type = request_format_content_type((enum request_format)format);
        for (int status = 100; status <= 599; status++) {
            const char *fix = attempt_fix(ATTEMPT_STATUS, status, (enum request_format)format);
            const char *what = attempt_status_text(status, (enum request_format)format);
            CHECK(*what && *fix && fix[strlen(fix) - 1] == '.');
            const char *names = strstr(fix, "application/");
            CHECK(!names || (type && strncmp(names, type, strlen(type)) == 0));
            names = strstr(what, "application/");
            CHECK(!names || (type && strncmp(names, type, strlen(type)) == 0));
        }
    }
}

static void asks_for_no_body_of_a_get(void)
{
    for (int status = 100; status <= 599; status++) {
        const char *fix = attempt_fix(ATTEMPT_STATUS, status, REQUEST_GET);
        const char *what = attempt_status_text(status, REQUEST_GET);
        CHECK(!strstr(fix, "bodies") && !strstr(fix, "POST"));
        CHECK(!strstr(what, "a body of") && !strstr(what, "POST"));
    }
    CHECK(str_has_prefix(fix_of(411, REQUEST_GET), "Accept a GET without a body"));
    CHECK(str_eq(fix_of(413, REQUEST_GET), fix_of(414, REQUEST_GET)));
}

static void has_a_text_for_each_status(void)
{
    CHECK(str_eq(fix_of(400, REQUEST_JSON), fix_of(422, REQUEST_JSON)));
    CHECK(str_is(text_of(411, REQUEST_FORM), "it asks for a Content-Length"));
    CHECK(str_has_prefix(fix_of(413, REQUEST_FORM), "Allow bodies of up to 32 KiB"));
    CHECK(str_eq(text_of(502, REQUEST_JSON), text_of(504, REQUEST_JSON)));
    CHECK(str_is(text_of(503, REQUEST_JSON), "the receiver is not available"));
    CHECK(str_has_prefix(fix_of(414, REQUEST_JSON), "Allow URLs of up to 16 KiB"));
    CHECK(str_is(text_of(599, REQUEST_JSON), "the receiver failed"));
    CHECK(str_is(text_of(418, REQUEST_JSON), "where 2xx means success"));
    CHECK(str_is(text_of(100, REQUEST_JSON), "where 2xx means success"));
    CHECK(str_is(text_of(0, REQUEST_JSON), "where 2xx means success"));
}

int main(void)
{
    RUN(speaks_of_the_request_that_was_made);
    RUN(asks_for_no_body_of_a_get);
    RUN(has_a_text_for_each_status);
    return check_done("attempt");
}
