/* Intake is bounded by bytes: no record is larger than was reckoned before it was decided, a
 * request whose records are many goes on in the next group, and is answered when all of them are
 * durable. */
#include "sqlite_store.h"

#include "domain/acceptance.h"
#include "domain/payload.h"
#include "store/journal/record.h"

#include <errno.h>

/* --- what is reckoned ------------------------------------------------------------------------- */

static char longest[LIMIT_TEXT_BYTES];

static struct str text_of(unsigned shape, size_t most)
{
    switch (shape) {
    case 0: return STR_NONE;
    case 1: return STR("");
    case 2: return STR("x");
    default: return (struct str){longest, most};
    }
}

/* What an event of that type may have of texts at most. */
static struct candidate shaped(enum event_type type, unsigned shape, const struct app_terms *with)
{
    static char ids[LIMIT_EVENT_ID_BYTES];
    memset(longest, 1, sizeof longest); /* \u0001: six bytes in the body */
    memset(ids, 'L', sizeof ids);
    bool is_offer = event_type_is_offer(type), reverses = type == EVENT_OFFER_COMPLETION_REVERSED;
    struct str id = shape < 3 ? STR("x") : (struct str){ids, sizeof ids};
    struct candidate c = {
        .terms = with,
        .client_no = 3,
        .integration = shape % 2 ? INTEGRATION_SDK : INTEGRATION_MONETIZATION_API,
        .type = type,
        .deliver = true,
        .is_test = true,
        .occurred_ms = INT64_C(253402300799999),
        .event_id = id,
        .client_id = (struct str){ids, shape < 3 ? 1 : LIMIT_ID_BYTES},
        .original_reward_id = reverses || type == EVENT_AD_HOC ? id : STR_NONE,
        .reason = text_of(shape, LIMIT_TEXT_BYTES),
    };
    if (reverses)
        return c;
    c.panelist_id = shape < 3 ? STR("p") : (struct str){longest, LIMIT_PANELIST_ID_BYTES};
    c.session_id = text_of(shape, LIMIT_TEXT_BYTES);
    c.mid = is_offer ? STR_NONE : text_of(shape, LIMIT_TEXT_BYTES);
    c.offer_id = is_offer ? (INT64_C(1) << 53) - 1 : 0;
    c.offer_title = is_offer ? text_of(shape, LIMIT_TEXT_BYTES) : STR_NONE;
    c.offer_goal_id = is_offer ? text_of(shape, LIMIT_TEXT_BYTES) : STR_NONE;
    c.has_revenue = c.has_reward = true;
    c.revenue_micros = MONEY_MAX_REVENUE_MICROS - 1;
    c.reward_micros = MONEY_MAX_REWARD_MICROS - 1;
    return c;
}

static size_t record_bytes(const struct candidate *c, const struct event *original)
{
    struct event e;
    struct buf body = {0}, record = {0};
    struct acceptance_facts facts = {
        .received_ms = NOW_MS,
        .original = acceptance_needs_original(c) ? original : NULL,
    };
    struct verdict v = acceptance_decide(c, &facts, &e);
    ASSERT(v.kind == VERDICT_ACCEPTED);
    payload_fix(&e, c, &body);
    record_add_event(&record, &e);
    size_t n = record.n;
    buf_free(&body);
    buf_free(&record);
    return n;
}

static void no_record_is_larger_than_was_reckoned(void)
{
    size_t largest = 0;
    for (int all = 0; all < 2; all++)
        for (enum event_type type = EVENT_SURVEY_STARTED; type <= EVENT_TYPE_LAST; type++)
            for (unsigned shape = 0; shape < 5; shape++)
                for (unsigned of = 0; of < 5; of++) {
                    struct app_terms with = terms;
                    with.legacy_fields = with.extended_fields = all;
                    with.reward_decimals = 6;
                    struct candidate first = shaped(EVENT_OFFER_COMPLETED, of, &with);
                    struct candidate c = shaped(type, shape, &with);
                    struct event original;
                    (void)acceptance_decide(
                        &first, &(struct acceptance_facts){.received_ms = NOW_MS}, &original);
                    size_t n = record_bytes(&c, &original);
                    CHECK(n <= record_event_bytes_most(&c));
                    if (n > largest)
                        largest = n;
                }
    CHECK(largest <= LIMIT_EVENT_RECORD_BYTES);
    CHECK(largest > LIMIT_EVENT_RECORD_BYTES / 2); /* the limit means something */
}

/* --- groups ------------------------------------------------------------------------------------
 */

#define MANY 150
#define SMALL_GROUP (64u << 10)
#define SMALL_SEGMENT (104u << 10) /* holds a group: what is written at once is one */

static _Atomic size_t largest_write;
static _Atomic int syncs_until_failure; /* from then on all fail */

static ssize_t note_write(struct disk *disk, int fd, const void *from, size_t n, int64_t offset)
{
    (void)disk;
    if (n > largest_write)
        largest_write = n;
    return disk_real()->write_at(disk_real(), fd, from, n, offset);
}

static int sync_until(struct disk *disk, int fd)
{
    (void)disk;
    if (syncs_until_failure == 0)
        return -EIO;
    syncs_until_failure--;
    return disk_real()->sync_file(disk_real(), fd);
}

static char names[2][MANY][16];
static struct candidate items[MANY];

static struct intake_batch many(enum event_type type)
{
    for (size_t i = 0; i < MANY; i++) {
        bool reverses = type == EVENT_OFFER_COMPLETION_REVERSED;
        snprintf(names[reverses][i], sizeof names[0][0], "%s-%zu", reverses ? "r" : "o", i);
        items[i] = shaped(type, 3, &terms);
        items[i].is_test = false;
        items[i].event_id = str_of(names[reverses][i]);
        items[i].original_reward_id = reverses ? str_of(names[0][i]) : STR_NONE;
        items[i].key = event_key(store_hash_secret(store), terms.account_no, items[i].event_id);
        items[i].content = items[i].key.lo;
    }
    return (struct intake_batch){.items = items, .count = MANY, .received_ms = NOW_MS};
}

static size_t count_verdicts(const struct intake_batch *b, enum verdict_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < b->count; i++)
        n += b->verdicts[i].kind == kind;
    return n;
}

static int64_t commits(void)
{
    struct store_numbers n;
    store_get_numbers(store, &n);
    return n.commits;
}

static void submit_many(enum event_type type, enum verdict_kind all)
{
    struct intake_batch b = many(type);
    ASK(store_submit, store, &b);
    CHECK_EQ_INT(b.status, STORE_OK);
    CHECK_EQ_UINT(count_verdicts(&b, all), MANY);
    arena_free(&b.arena);
}

static void begin_small(void)
{
    test_group_bytes = SMALL_GROUP;
    test_segment_bytes = SMALL_SEGMENT;
    begin();
    test_write_hook = note_write;
    largest_write = 0;
}

static void end_small(void)
{
    end();
    test_write_hook = NULL;
    test_group_bytes = test_segment_bytes = 0;
}

/* 150 reversals of 90 bytes each are 3 MiB of records. */
static void a_request_goes_on_in_the_next_group(void)
{
    begin_small();
    submit_many(EVENT_OFFER_COMPLETED, VERDICT_ACCEPTED);
    int64_t before = commits();
    submit_many(EVENT_OFFER_COMPLETION_REVERSED, VERDICT_ACCEPTED);
    CHECK(commits() - before >= 30);
    CHECK(largest_write <= SMALL_GROUP + LIMIT_EVENT_RECORD_BYTES + 8192);
    reopen();
    submit_many(EVENT_OFFER_COMPLETION_REVERSED, VERDICT_DUPLICATE);
    end_small();
}

/* Nothing of them is recorded, but each has its original looked up. */
static void rejected_ones_take_no_more(void)
{
    begin_small();
    submit_many(EVENT_OFFER_COMPLETED, VERDICT_ACCEPTED);
    struct intake_batch b = many(EVENT_OFFER_COMPLETION_REVERSED);
    for (size_t i = 0; i < MANY; i++)
        items[i].panelist_id = STR("somebody else");
    ASK(store_submit, store, &b);
    CHECK_EQ_INT(b.status, STORE_OK);
    CHECK_EQ_UINT(count_verdicts(&b, VERDICT_MISMATCH), MANY);
    arena_free(&b.arena);
    end_small();
}

/* In the middle the disk fails: nothing is called accepted, and what is asked again is answered by
 * what there is. */
static void a_request_cut_off_in_the_middle_is_asked_again(void)
{
    begin_small();
    submit_many(EVENT_OFFER_COMPLETED, VERDICT_ACCEPTED);
    syncs_until_failure = 20;
    test_sync_hook = sync_until;
    struct intake_batch b = many(EVENT_OFFER_COMPLETION_REVERSED);
    ASK(store_submit, store, &b);
    CHECK_EQ_INT(b.status, STORE_FAILED);
    arena_free(&b.arena);
    test_sync_hook = NULL;
    reopen();
    b = many(EVENT_OFFER_COMPLETION_REVERSED);
    ASK(store_submit, store, &b);
    CHECK_EQ_INT(b.status, STORE_OK);
    size_t again = count_verdicts(&b, VERDICT_DUPLICATE);
    CHECK(again > 0 && again < MANY);
    CHECK_EQ_UINT(again + count_verdicts(&b, VERDICT_ACCEPTED), MANY);
    arena_free(&b.arena);
    end_small();
}

/* A request of more than may wait is taken when nothing else waits. */
static void the_queue_is_bounded_by_bytes(void)
{
    begin();
    struct candidate c = make(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    struct intake_batch b = {
        .items = &c, .count = 1, .received_ms = NOW_MS, .bytes = 2 * LIMIT_STORE_QUEUED_BYTES};
    ASK(store_submit, store, &b);
    CHECK_EQ_INT(b.status, STORE_OK);
    arena_free(&b.arena);
    struct store_numbers n;
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.queued_bytes, 0);
    CHECK_EQ_INT(n.events_queued, 0);
    end();
}

int main(void)
{
    RUN(no_record_is_larger_than_was_reckoned);
    RUN(a_request_goes_on_in_the_next_group);
    RUN(rejected_ones_take_no_more);
    RUN(a_request_cut_off_in_the_middle_is_asked_again);
    RUN(the_queue_is_bounded_by_bytes);
    return check_done("sqlite_intake");
}
