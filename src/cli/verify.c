/* postbackd verify --secret S < body.json: says whether Sig matches and, if not, why. */
#include "cli/command.h"

#include "base/buf.h"
#include "base/limits.h"
#include "domain/verify_sig.h"
#include "json/reader.h"

#include <stdio.h>
#include <unistd.h>

static bool read_all(struct buf *to)
{
    for (;;) {
        if (to->n > LIMIT_REQUEST_BODY_BYTES)
            return false;
        ssize_t got = read(STDIN_FILENO, buf_reserve(to, 65536), 65536);
        if (got <= 0)
            return got == 0;
        to->n += (size_t)got;
    }
}

static int judge(const struct json *body, struct str secret)
{
    struct verify_input in = {
        .panelist_id = json_member_text(body, "PanelistId"),
        .reward_id = json_member_text(body, "RewardId"),
        .sig = json_member_text(body, "Sig"),
        .signature = json_member_text(body, "Signature"),
        .secret = secret,
    };
    struct buf why = {0};
    enum verify_cause cause = verify_sig(&in, &why);
    if (cause == VERIFY_OK && verify_is_test(&in))
        puts("Sig matches. It is a test (its RewardId begins with test_): do not pay it.");
    else if (cause == VERIFY_OK)
        puts("Sig matches.");
    else
        command_say(stdout, "Sig does not match (%s): %s", verify_cause_name(cause), buf_c(&why));
    buf_free(&why);
    return cause == VERIFY_OK ? 0 : 1;
}

int command_verify(struct settings *s)
{
    struct str secret = settings_text(s, OPTION_SECRET);
    if (s->operand_count)
        return command_fail(EXIT_USAGE,
                            "verify reads the body from standard input: "
                            "postbackd verify --secret SECRET < %.*s",
                            STR_ARG(s->operands[0]));
    if (!secret.p)
        return command_fail(
            EXIT_USAGE,
            "verify needs --secret, the app's Callback Secret, and the body on standard input.");
    struct buf text = {0};
    struct arena arena = {0};
    struct json *body = NULL;
    struct str why;
    int status;
    if (!read_all(&text))
        status = command_fail(1, "standard input cannot be read whole (at most 8 MiB).");
    else if (!json_parse(&arena, buf_str(&text), &body, &why))
        status = command_fail(1, "the body is not valid JSON: %.*s", STR_ARG(why));
    else if (body->type != JSON_OBJECT)
        status = command_fail(1, "the body is JSON, but not an object.");
    else
        status = judge(body, secret);
    arena_free(&arena);
    buf_free(&text);
    return status;
}
