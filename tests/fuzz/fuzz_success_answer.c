/* A receiver's answer and an app's SuccessAnswer: the rule as a byte, text, field and body behind
 * it, separated by 0xff. A failure always has its clause, a success none, and what is cut can only
 * lose by it. */
#include "fuzz.h"

#include "accounts/success_answer.h"

static struct str next_piece(struct str *rest)
{
    return rest->p ? str_cut(rest, (char)0xff) : STR("");
}

static bool judge(const struct success_answer *s, struct str body, bool is_cut)
{
    struct buf why = {0};
    bool good = success_answer_judge(s, body, is_cut, &why);
    ASSERT(good == (why.n == 0));
    buf_free(&why);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str rest = {(const char *)data, data_bytes};
    const char *wrong = NULL;
    if (data_bytes == 0)
        return 0;
    struct success_answer s = {.rule = (enum success_rule)(data[0] % (SUCCESS_FIELD + 1))};
    rest.p++;
    rest.n--;
    s.text = next_piece(&rest);
    s.field = next_piece(&rest);
    struct str body = rest.p ? rest : STR("");
    if (!success_text_valid(s.text, &wrong) || s.field.n == 0 ||
        !success_field_valid(s.field, &wrong))
        return 0;
    bool good = judge(&s, body, false);
    if (judge(&s, body, true))
        ASSERT(good);
    if (good && s.rule == SUCCESS_CONTAINS)
        ASSERT(body.n >= s.text.n);
    return 0;
}
