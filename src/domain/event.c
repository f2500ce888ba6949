/* Names of the domain's enums, one table each, which serves both directions; and the texts of an
 * event. */
#include "domain/event.h"

#include "base/check.h"

struct type_row {
    const char *name;
    enum lane_kind lane;
    bool offer;
};

static const struct type_row types[EVENT_TYPE_LAST + 1] = {
    [EVENT_SURVEY_STARTED] = {"survey_started", LANE_NONE, false},
    [EVENT_SURVEY_COMPLETED] = {"survey_completed", LANE_SUCCESS, false},
    [EVENT_SURVEY_DISQUALIFIED] = {"survey_disqualified", LANE_FAILURE, false},
    [EVENT_PROFILER_COMPLETED] = {"profiler_completed", LANE_SUCCESS, false},
    [EVENT_AD_HOC] = {"ad_hoc", LANE_SUCCESS, false},
    [EVENT_OFFER_COMPLETED] = {"offer_completed", LANE_OFFER, true},
    [EVENT_OFFER_CLICKED] = {"offer_clicked", LANE_OFFER, true},
    [EVENT_OFFER_COMPLETION_REVERSED] = {"offer_completion_reversed", LANE_OFFER, true},
};

static const struct type_row *row_of(enum event_type type)
{
    ASSERT(type >= EVENT_SURVEY_STARTED && type <= EVENT_TYPE_LAST);
    return &types[type];
}

const char *event_type_name(enum event_type type)
{
    return row_of(type)->name;
}

bool event_type_parse(struct str name, enum event_type *ret_type)
{
    for (int i = EVENT_SURVEY_STARTED; i <= EVENT_TYPE_LAST; i++) {
        if (str_is(name, types[i].name)) {
            *ret_type = (enum event_type)i;
            return true;
        }
    }
    return false;
}

bool event_type_is_offer(enum event_type type)
{
    return row_of(type)->offer;
}

bool event_is_survey_outcome(enum event_type type)
{
    return type == EVENT_SURVEY_COMPLETED || type == EVENT_SURVEY_DISQUALIFIED ||
           type == EVENT_PROFILER_COMPLETED;
}

bool event_is_conversion(const struct event *e)
{
    return e->reward_micros > 0 && e->revenue_micros > 0;
}

enum lane_kind event_lane(enum event_type type)
{
    return row_of(type)->lane;
}

enum lane_kind app_lane(const struct app_terms *terms, enum event_type type, bool is_test)
{
    enum lane_kind lane = event_lane(type);
    return is_test && lane != LANE_NONE && terms->has_url[LANE_TEST] ? LANE_TEST : lane;
}

const char *callback_state_name(enum callback_state state)
{
    static const char *const names[] = {
        [CALLBACK_NONE] = "none",
        [CALLBACK_PENDING] = "pending",
        [CALLBACK_DELIVERING] = "delivering",
        [CALLBACK_DELIVERED] = "delivered",
        [CALLBACK_DEAD] = "dead",
        [CALLBACK_SKIPPED] = "skipped",
    };
    ASSERT((unsigned)state < ARRAY_LEN(names));
    return names[state];
}

const char *callback_reason_name(enum callback_reason reason)
{
    static const char *const names[] = {
        [REASON_NONE] = NULL,
        [REASON_NO_URL] = "no_url",
        [REASON_DISABLED] = "disabled",
        [REASON_IMPORTED] = "imported",
        [REASON_ATTEMPTS] = "attempts",
        [REASON_ENDPOINT_DOWN] = "endpoint_down",
        [REASON_GONE] = "gone",
        [REASON_FINAL_STATUS] = "final_status",
        [REASON_NOT_WANTED] = "not_wanted",
    };
    ASSERT((unsigned)reason < ARRAY_LEN(names));
    return names[reason];
}

bool callback_reason_fits(enum callback_state state, enum callback_reason reason)
{
    switch (reason) {
    case REASON_NONE: return state != CALLBACK_SKIPPED && state != CALLBACK_DEAD;
    case REASON_NO_URL:
    case REASON_DISABLED:
    case REASON_IMPORTED:
    case REASON_NOT_WANTED: return state == CALLBACK_SKIPPED;
    case REASON_ATTEMPTS:
    case REASON_ENDPOINT_DOWN:
    case REASON_GONE:
    case REASON_FINAL_STATUS: return state == CALLBACK_DEAD;
    }
    UNREACHABLE();
}

const char *cap_part_name(enum cap_part cap)
{
    static const char *const names[] = {
        [CAP_NONE] = NULL,
        [CAP_COUNTED] = "counted",
        [CAP_REACHED] = "reached",
    };
    ASSERT((unsigned)cap < ARRAY_LEN(names));
    return names[cap];
}

const char *lane_kind_name(enum lane_kind kind)
{
    static const char *const names[LANE_KINDS] = {
        [LANE_NONE] = "none",   [LANE_SUCCESS] = "success", [LANE_FAILURE] = "failure",
        [LANE_OFFER] = "offer", [LANE_TEST] = "test",
    };
    ASSERT((unsigned)kind < LANE_KINDS);
    return names[kind];
}

void event_erase(struct event *e, struct str replacement)
{
    e->panelist_id = replacement;
    e->session_id = e->mid = e->body = STR_NONE;
    e->signature_offset = 0;
    e->is_erased = true;
}

void event_keep(struct event *e, struct arena *arena)
{
    struct str *texts[] = {&e->event_id, &e->panelist_id,        &e->session_id,
                           &e->mid,      &e->offer_title,        &e->offer_goal_id,
                           &e->reason,   &e->original_reward_id, &e->body};
    size_t bytes = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        bytes += texts[i]->n;
    char *at = arena_alloc(arena, bytes + 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!texts[i]->p)
            continue;
        if (texts[i]->n > 0)
            memcpy(at, texts[i]->p, texts[i]->n);
        texts[i]->p = at;
        at += texts[i]->n;
    }
}

/* 2: allowed anywhere in an id; 1: not at its start. */
static const uint8_t id_bytes[256] = {
    ['0' ... '9'] = 2, ['A' ... 'Z'] = 2, ['a' ... 'z'] = 2, ['_'] = 1, [':'] = 1, ['-'] = 1,
};

bool event_id_valid(struct str id)
{
    if (id.n < 1 || id.n > LIMIT_EVENT_ID_BYTES)
        return false;
    const unsigned char *p = (const unsigned char *)id.p;
    bool good = id_bytes[p[0]] == 2;
    for (size_t i = 1; i < id.n; i++)
        good = good & (id_bytes[p[i]] != 0);
    return good;
}
