/*
 * Any bytes as a body of events: the first byte says in which form. Whatever comes out must be
 * fit for the store: every item is either a candidate that the rules can decide about or a
 * rejection with a reason, in order, and the answer is JSON.
 */
#include "fuzz.h"

#include "accounts/changes.h"
#include "base/env.h"
#include "base/limits.h"
#include "domain/acceptance.h"
#include "domain/money.h"
#include "intake/intake.h"
#include "intake/intake_answer.h"
#include "json/reader.h"

#define NOW_MS INT64_C(1763726400000)

static struct intake *intake;

enum creation { PARTNER, APP, CLIENT };

static void create(struct accounts *accounts, enum creation what, const char *text)
{
    struct arena arena = {0};
    struct problems faults = {.arena = &arena};
    struct json *body = NULL;
    struct str why;
    struct change change;
    enum change_result result = CHANGE_INVALID;
    ASSERT(json_parse(&arena, str_of(text), &body, &why));
    if (what == PARTNER)
        result = change_create_partner(accounts, body, &faults, &change);
    else if (what == APP)
        result = change_create_app(accounts, STR("p"), false, body, &faults, &change);
    else
        result = change_create_client(accounts, STR("a"), body, &faults, &change);
    ASSERT(result == CHANGE_READY);
    change_apply(accounts, &change);
    change_free(accounts, &change);
    arena_free(&arena);
}

static void open_world(void)
{
    static const struct hash_secret secret = {{1}};
    struct directory *directory = directory_new(); /* lives as long as the process */
    struct accounts_options options = {.directory = directory, .env = env_real()};
    struct accounts *accounts = accounts_new(&options);
    create(accounts, PARTNER, "{\"PartnerId\":\"p\"}");
    create(accounts, APP,
           "{\"AppId\":\"a\",\"CurrencyValue\":1000,\"NegativeAdHoc\":true,"
           "\"DisqualificationReward\":1}");
    create(accounts, CLIENT, "{\"ClientId\":\"c\"}");
    create(accounts, CLIENT, "{\"ClientId\":\"d\",\"Enabled\":false}");
    accounts_free(accounts);
    intake = intake_new(directory, &secret);
}

static void check_text(struct str s, size_t most)
{
    ASSERT(s.n <= most && str_is_utf8(s) && (s.n == 0 || !memchr(s.p, 0, s.n)));
}

static void check_candidate(const struct candidate *c)
{
    struct event e = {0};
    ASSERT(c->event_id.n >= 1 && c->terms && c->client_no);
    check_text(c->event_id, LIMIT_EVENT_ID_BYTES);
    check_text(c->panelist_id, LIMIT_PANELIST_ID_BYTES);
    check_text(c->session_id, LIMIT_TEXT_BYTES);
    check_text(c->mid, LIMIT_TEXT_BYTES);
    check_text(c->offer_title, LIMIT_TEXT_BYTES);
    check_text(c->offer_goal_id, LIMIT_TEXT_BYTES);
    check_text(c->original_reward_id, LIMIT_EVENT_ID_BYTES);
    check_text(c->reason, LIMIT_TEXT_BYTES);
    ASSERT(c->revenue_micros >= -MONEY_MAX_REVENUE_MICROS);
    ASSERT(c->revenue_micros >= 0 || c->type == EVENT_AD_HOC);
    struct verdict v = acceptance_decide(c, &(struct acceptance_facts){.received_ms = NOW_MS}, &e);
    ASSERT(v.kind != VERDICT_ACCEPTED || e.reward_micros <= MONEY_MAX_REWARD_MICROS);
}

static void check_items(const struct intake_items *items, struct arena *arena)
{
    size_t i = 0, r = 0;
    for (uint32_t index = 0; index < items->count + items->rejected_count; index++) {
        if (i < items->count && items->indexes[i] == index) {
            check_candidate(&items->items[i++]);
        } else {
            ASSERT(r < items->rejected_count && items->rejected[r].index == index);
            ASSERT(items->rejected[r++].faults.count > 0);
        }
    }
    struct verdict *verdicts = arena_zalloc(arena, (items->count + 1) * sizeof *verdicts);
    for (size_t n = 0; n < items->count; n++)
        verdicts[n].kind = (enum verdict_kind)(n % (VERDICT_MISMATCH + 1));
    for (size_t n = 0; n < items->count; n++)
        verdicts[n].field = "OfferId";
    struct buf answer = {0};
    struct json *v = NULL;
    struct str why;
    struct intake_counts n = intake_answer(&answer, items, verdicts);
    ASSERT(n.accepted + n.duplicates + n.rejected == items->count + items->rejected_count);
    ASSERT(json_parse(arena, buf_str(&answer), &v, &why));
    ASSERT(json_member(v, "Rejected")->count == n.rejected);
    buf_free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    if (!intake)
        open_world();
    if (data_bytes == 0)
        return 0;
    struct arena arena = {0};
    struct intake_request request = {
        .body = {(const char *)data + 1, data_bytes - 1},
        .format = data[0] == 'n' ? INTAKE_NDJSON : INTAKE_JSON,
        .now_ms = NOW_MS,
        .imported = data[0] == 'i',
    };
    struct intake_items items;
    struct str why = STR_NONE;
    enum intake_result result = intake_read(intake, &request, &arena, &items, &why);
    if (result == INTAKE_READ)
        check_items(&items, &arena);
    else
        ASSERT(result == INTAKE_TOO_MANY || why.n > 0);
    arena_free(&arena);
    return 0;
}
