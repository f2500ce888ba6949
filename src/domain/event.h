/* The nouns of the domain: kinds of events, a reported event (candidate), a decided one (event),
 * and the app's settings at that moment (terms).
 *
 * Everything here is plain data. Texts are borrowed: from a request's arena, a journal frame or a
 * callback's own memory. domain/acceptance.h decides a candidate: accepted, duplicate, conflict or
 * rejected. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbers are stored in journal and database: append only. */
enum event_type {
    EVENT_SURVEY_STARTED = 1,
    EVENT_SURVEY_COMPLETED = 2,
    EVENT_SURVEY_DISQUALIFIED = 3,
    EVENT_PROFILER_COMPLETED = 4,
    EVENT_AD_HOC = 5,
    EVENT_OFFER_COMPLETED = 6,
    EVENT_OFFER_CLICKED = 7,
    EVENT_OFFER_COMPLETION_REVERSED = 8,
};
#define EVENT_TYPE_LAST EVENT_OFFER_COMPLETION_REVERSED

/* Stored: append only. A lane is the queue of one configured URL; an event with LANE_NONE has no
 * callback. LANE_TEST has the test events of apps with a TestCallbackUrl, of any type. */
enum lane_kind {
    LANE_NONE = 0,
    LANE_SUCCESS = 1,
    LANE_FAILURE = 2,
    LANE_OFFER = 3,
    LANE_TEST = 4,
};
#define LANE_LAST LANE_TEST
#define LANE_KINDS (LANE_LAST + 1)
/* The prefix of the RewardIds of test callbacks: an EventId with it is refused. */
#define EVENT_ID_OF_TESTS "test_"
/* [A-Za-z0-9][A-Za-z0-9_:-]{0,127}; every RewardId has this form, also of test callbacks. */
bool event_id_valid(struct str id);

enum integration { INTEGRATION_SDK = 1, INTEGRATION_IFRAME = 2, INTEGRATION_MONETIZATION_API = 3 };

/* Stored: append only. docs/state.md has every transition. CALLBACK_NONE: there is no callback. */
enum callback_state {
    CALLBACK_NONE = 0,
    CALLBACK_PENDING = 1,
    CALLBACK_DELIVERING = 2, /* only in memory: it is stored as pending */
    CALLBACK_DELIVERED = 3,
    CALLBACK_DEAD = 4,
    CALLBACK_SKIPPED = 5,
};
/* Why a callback is skipped or dead. Stored: append only. */
enum callback_reason {
    REASON_NONE = 0,
    REASON_NO_URL = 1,
    REASON_DISABLED = 2,
    REASON_IMPORTED = 3,
    REASON_ATTEMPTS = 4,      /* the schedule's number of attempts has failed */
    REASON_ENDPOINT_DOWN = 5, /* its lane was down long after its last slot: callback_end.h */
    REASON_GONE = 6,          /* answered 410 */
    REASON_FINAL_STATUS = 7,  /* answered with one of the app's FinalStatuses */
    /* excluded by the app's RewardTypes or WithholdTests, or a test in a real lane whose app has a
     * TestCallbackUrl now */
    REASON_NOT_WANTED = 8,
};
#define REASON_LAST REASON_NOT_WANTED

/* An event's part in its app's cap on disqualifications. Stored: append only. */
enum cap_part {
    CAP_NONE = 0,
    CAP_COUNTED = 1, /* paid by the app's rule: counts for the cap */
    CAP_REACHED = 2, /* not paid, because the cap was reached */
};

/* A lane's number: app_no * LANE_KINDS + kind. SQL computes with it, too. */
typedef uint64_t lane_no;
static inline lane_no lane_of(uint32_t app_no, enum lane_kind kind)
{
    return (lane_no)app_no * LANE_KINDS + (lane_no)kind;
}
static inline uint32_t lane_app_no(lane_no lane)
{
    return (uint32_t)(lane / LANE_KINDS);
}
static inline enum lane_kind lane_kind_of(lane_no lane)
{
    return (enum lane_kind)(lane % LANE_KINDS);
}

/* The app's settings that decide about an event, as they were at its acceptance. */
struct app_terms {
    uint32_t account_no;
    uint32_t app_no;
    int64_t currency_micros; /* IAC per 1 USD, millionths */
    int64_t disqualification_reward_micros;
    uint32_t disqualification_cap; /* payments per (app, panelist) in 24 h */
    uint8_t reward_decimals;       /* 0..6 */
    bool legacy_fields, extended_fields, negative_ad_hoc;
    bool trim_decimals, numeric_goal_ids; /* in the body: 72 instead of 72.00, 5 instead of "5" */
    bool withhold_tests;                  /* callbacks of test events are skipped */
    uint32_t unwanted_types;              /* bit n: callbacks of enum event_type n are skipped */
    bool has_url[LANE_KINDS];             /* the lane has a URL now */
    bool lane_disabled[LANE_KINDS];       /* by a 410 */
};

/* True if these settings, which may be newer than the event, allow a callback of that lane. */
static inline bool app_wants(const struct app_terms *terms, enum event_type type, bool is_test,
                             enum lane_kind lane)
{
    bool is_kept_back = terms->withhold_tests || (terms->has_url[LANE_TEST] && lane != LANE_TEST);
    return !(terms->unwanted_types >> type & 1) && !(is_test && is_kept_back);
}

/* A reported event that passed validation; the store decides the rest. */
struct candidate {
    const struct app_terms *terms;
    uint32_t client_no;
    enum integration integration;
    enum event_type type;
    bool is_test, has_is_test; /* has: the event itself says so */
    bool deliver;              /* false: imported, its callback is skipped */
    /* for a reason that may change with time or settings; it may still be a duplicate */
    bool refused;
    bool has_revenue, has_reward; /* the event itself gives them */
    int64_t occurred_ms;          /* Unix ms, UTC */
    int64_t revenue_micros;
    int64_t reward_micros; /* if has_reward */
    int64_t offer_id;      /* 0: none */
    struct str event_id, client_id, panelist_id;
    struct str session_id, mid, offer_title, offer_goal_id, original_reward_id, reason;
    struct str trace;  /* the request's traceparent, packed; absent: none */
    struct key128 key; /* of (account, EventId) */
    uint64_t content;  /* hash of all members as sent, see intake/content.h */
};

/* A decided event. Everything in it is fixed, except the state of its callback. */
struct event {
    uint32_t account_no;
    uint32_t app_no;
    uint32_t client_no;
    uint64_t event_no; /* per account, from 1, in the order of commits */
    enum event_type type;
    enum lane_kind lane;
    bool is_test;
    uint8_t reward_decimals; /* as printed in the body */
    int64_t occurred_ms, accepted_ms;
    int64_t due_ms; /* when its request came: its callback is due from then on */
    int64_t revenue_micros, reward_micros; /* negative on reversals and some ad_hoc */
    int64_t offer_id;
    uint64_t original_no; /* the reversed offer_completed; 0: none */
    struct str event_id, panelist_id;
    struct str session_id, mid, offer_title, offer_goal_id, original_reward_id, reason;
    struct key128 key;
    uint64_t content;
    struct str body; /* of the callback, with other characters in place of Sig: payload.h */
    uint16_t signature_offset; /* of the second 32 hex digits (LegacyFields), 0: none */
    enum callback_state state; /* at acceptance: none, pending or skipped */
    enum callback_reason reason_skipped;
    enum cap_part cap;
    /* of a stored event: panelist_id is a replacement, session_id and mid are gone */
    bool is_erased;
};

/* Sig comes first: {"Sig":"<32 hex digits>" */
#define BODY_SIG_OFFSET 8

enum verdict_kind {
    VERDICT_ACCEPTED,
    VERDICT_DUPLICATE,
    VERDICT_CONFLICT,
    VERDICT_REFUSED, /* candidate.refused; intake has the reasons */
    VERDICT_ORIGINAL_NOT_FOUND,
    VERDICT_ALREADY_REVERSED,
    VERDICT_MISMATCH,     /* a reversal's field differs from its original: invalid */
    VERDICT_NOT_STORABLE, /* the database refuses its values: invalid */
};

struct verdict {
    enum verdict_kind kind;
    const char *field; /* VERDICT_MISMATCH: a literal wire name */
    uint64_t event_no; /* accepted and duplicate */
};

#define ACCOUNT_TEXT_BYTES_MOST LIMIT_PANELIST_ID_BYTES /* the longest of these texts */
/* Of a text within an account: two accounts' equal texts have different keys. Stored. */
static inline struct key128 account_text_key(const struct hash_secret *secret, uint32_t account_no,
                                             struct str text)
{
    char bytes[4 + ACCOUNT_TEXT_BYTES_MOST];
    ASSERT(text.n <= ACCOUNT_TEXT_BYTES_MOST);
    put_le32(bytes, account_no);
    if (text.n > 0)
        memcpy(bytes + 4, text.p, text.n);
    return hash_key128(secret, bytes, 4 + text.n);
}

/* candidate.key: identifies an event permanently. */
static inline struct key128 event_key(const struct hash_secret *secret, uint32_t account_no,
                                      struct str event_id)
{
    ASSERT(event_id.n <= LIMIT_EVENT_ID_BYTES);
    return account_text_key(secret, account_no, event_id);
}

/* Replaces and clears the texts of an event whose panelist is erased. The replacement is the same
 * for all events of one erasure, so that days keep their number of panelists. */
void event_erase(struct event *e, struct str replacement);
/* Copies the event's borrowed texts into an arena. */
void event_keep(struct event *e, struct arena *arena);

const char *event_type_name(enum event_type type); /* "survey_completed" */
bool event_type_parse(struct str name, enum event_type *ret_type);
bool event_type_is_offer(enum event_type type);
/* True for outcomes of a started survey: completed, disqualified, profiler completed. */
bool event_is_survey_outcome(enum event_type type);
/* True for what reports count as a conversion: the app earns by it and the panelist is paid. */
bool event_is_conversion(const struct event *e);
enum lane_kind event_lane(enum event_type type); /* without tests; see app_lane */
/* The lane of an event's callback, by the app's settings. */
enum lane_kind app_lane(const struct app_terms *terms, enum event_type type, bool is_test);
const char *callback_state_name(enum callback_state state);
const char *callback_reason_name(enum callback_reason reason); /* "no_url"; NULL for REASON_NONE */
/* True if the reason fits the state: skipped and dead have reasons of their own, other states have
 * none. */
bool callback_reason_fits(enum callback_state state, enum callback_reason reason);
const char *cap_part_name(enum cap_part cap);    /* "counted", "reached"; NULL for CAP_NONE */
const char *lane_kind_name(enum lane_kind kind); /* "success", "test" */
