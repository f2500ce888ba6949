/* What the store keeps of a notice comes back as it was, whatever stands in its texts. */
#include "check.h"

#include "operations/notice.h"

#include <stdio.h>
#include <string.h>

static struct notice *some_notice(void)
{
    struct notice *n =
        notice_new(NULL, OPERATIONS_OF_HEALTH, OPERATIONS_BY_MAIL, 7, 12, LANE_OFFER);
    n->is = OPERATIONS_SUSPENDED;
    n->told = OPERATIONS_DISABLED;
    n->since_ms = 1763726400123;
    n->class = ATTEMPT_STATUS;
    n->status = 503;
    n->error_ms = 1763726400100;
    n->owed_ms = 1763726400200;
    n->sent_ms = 1763726400300;
    snprintf(n->detail, sizeof n->detail, "%s", "It said \"no\"\n\xc3\xbc.");
    return n;
}

static void check_round(const struct notice *n)
{
    struct buf once = {0}, twice = {0};
    notice_print(&once, n);
    struct notice *back = notice_read(NULL, buf_str(&once));
    CHECK(back != NULL);
    if (back) {
        notice_print(&twice, back);
        CHECK_CSTR(buf_c(&twice), buf_c(&once));
        CHECK_CSTR(back->detail, n->detail);
        CHECK_CSTR(back->object_id, "12-3-0-1");
        CHECK_EQ_INT(back->channel, OPERATIONS_BY_MAIL);
        CHECK(str_eq(buf_str(&back->body), buf_str(&n->body)));
        notice_free(back);
    }
    buf_free(&once);
    buf_free(&twice);
}

static void a_notice_comes_back(void)
{
    struct notice *n = some_notice();
    check_round(n);
    n->saying = OPERATIONS_SUSPENDED;
    snprintf(n->id, sizeof n->id, "%s", "ops_1");
    buf_add_c(&n->body, "{\"Type\":\"endpoint.suspended\"}");
    check_round(n);
    notice_free(n);
}

static void what_is_no_notice_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"Account\":1}",
        "{\"Channel\":0,\"Account\":0,\"App\":1,\"Kind\":1,\"Is\":0,\"Told\":0,\"Since\":0,"
        "\"Class\":0,"
        "\"Status\":0,\"ErrorAt\":0,\"Detail\":\"\",\"Owed\":0,\"Sent\":0}",
        "{\"Account\":1,\"App\":1,\"Kind\":9,\"Is\":0,\"Told\":0,\"Since\":0,\"Class\":0,"
        "\"Status\":0,\"ErrorAt\":0,\"Detail\":\"\",\"Owed\":0,\"Sent\":0}",
        "{\"Account\":1,\"App\":1,\"Kind\":1,\"Is\":0,\"Told\":0,\"Since\":0,\"Class\":0,"
        "\"Status\":0,\"ErrorAt\":0,\"Detail\":\"\",\"Owed\":0,\"Sent\":0,\"Body\":3,\"Saying\":0,"
        "\"Id\":"
        "\"x\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(notice_read(NULL, str_of(bad[i])) == NULL);
}

int main(void)
{
    RUN(a_notice_comes_back);
    RUN(what_is_no_notice_is_refused);
    return check_done("notice");
}
