/* One array behind a lock. It is searched from end to end: it is short, and only people read it.
 * The answers are not part of a callback's own log, because they say nothing about the app's
 * endpoint. */
#include "api/forwards.h"

#include "accounts/fields.h"
#include "api/internal.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "domain/event.h"

#include <pthread.h>
#include <stdlib.h>

#define STATUS_LEAST 100
#define STATUS_MOST 599
#define DURATION_MS_MOST HOUR_MS

struct forward {
    uint64_t number; /* 0: free; ascending */
    uint32_t account_no;
    int32_t status; /* 0: there was no answer */
    int64_t at_ms, duration_ms;
    size_t reward_id_bytes, detail_bytes;
    char reward_id[LIMIT_EVENT_ID_BYTES], detail[FORWARD_DETAIL_BYTES];
};

struct forwards {
    pthread_mutex_t lock;
    uint64_t last_number;
    struct forward kept[FORWARDS_MOST];
};

struct forwards *forwards_new(void)
{
    struct forwards *f = xcalloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

void forwards_free(struct forwards *f)
{
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* The place for a new one: that of the account's oldest, if the account is at its limit. */
static struct forward *place_of(struct forwards *f, uint32_t account_no)
{
    struct forward *oldest = &f->kept[0], *own = NULL;
    size_t count = 0;
    for (size_t i = 0; i < FORWARDS_MOST; i++) {
        struct forward *one = &f->kept[i];
        if (one->number < oldest->number)
            oldest = one;
        if (!one->number || one->account_no != account_no)
            continue;
        count++;
        if (!own || one->number < own->number)
            own = one;
    }
    return count >= FORWARDS_OF_ACCOUNT ? own : oldest;
}

static void keep(struct forwards *f, struct forward *one)
{
    pthread_mutex_lock(&f->lock);
    one->number = ++f->last_number;
    *place_of(f, one->account_no) = *one;
    pthread_mutex_unlock(&f->lock);
}

/* --- POST ----------------------------------------------------------------------------------- */

static const struct field_rule rules[] = {
    {"RewardId", true, false},
    {"Status", true, false},
    {"DurationMs", true, false},
    {"Detail", true, false},
};

static size_t copy(char *to, struct str text)
{
    if (text.p)
        memcpy(to, text.p, text.n);
    return text.n;
}

static void read_report(struct call *c, const struct json *object, struct forward *ret)
{
    struct fields f = {.body = object, .faults = &c->problems};
    struct str reward_id = STR_NONE, detail = STR_NONE;
    const struct json *given = json_member(object, "Detail");
    int64_t status = 0;
    if (!fields_check(&f, rules, ARRAY_LEN(rules)))
        return;
    fields_required(&f, "RewardId");
    fields_text(&f, "RewardId", 1, sizeof ret->reward_id, &reward_id);
    if (reward_id.p && !event_id_valid(reward_id))
        problem_add(&c->problems, STR("RewardId"), "invalid", "no callback has such an id");
    if (given && given->type != JSON_NULL)
        fields_text(&f, "Detail", 0, sizeof ret->detail, &detail);
    fields_int_or_null(&f, "Status", STATUS_LEAST, STATUS_MOST, &status);
    fields_int_or_null(&f, "DurationMs", 0, DURATION_MS_MOST, &ret->duration_ms);
    ret->status = (int32_t)status;
    ret->reward_id_bytes = copy(ret->reward_id, reward_id);
    ret->detail_bytes = copy(ret->detail, detail);
}

void forwards_post(struct call *c)
{
    const struct json *object;
    if (!call_read_object(c, &object))
        return;
    struct forward one = {.account_no = c->account_no, .at_ms = call_now_ms(c)};
    read_report(c, object, &one);
    if (c->problems.count) {
        call_answer_invalid(c);
        return;
    }
    keep(c->api->forwards, &one);
    call_answer_empty(c, 204);
}

/* --- GET ------------------------------------------------------------------------------------ */

static int newest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct forward *)a)->number, y = ((const struct forward *)b)->number;
    return x < y ? 1 : -1;
}

static struct str reward_id_of(const struct forward *one)
{
    return (struct str){one->reward_id, one->reward_id_bytes};
}

/* Copies the account's reports; only those of the RewardId, if it is given. */
static size_t find(struct forwards *f, uint32_t account_no, struct str reward_id,
                   struct forward ret[FORWARDS_OF_ACCOUNT])
{
    size_t count = 0;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < FORWARDS_MOST && count < FORWARDS_OF_ACCOUNT; i++) {
        const struct forward *one = &f->kept[i];
        if (one->number && one->account_no == account_no &&
            (!reward_id.p || str_eq(reward_id, reward_id_of(one))))
            ret[count++] = *one;
    }
    pthread_mutex_unlock(&f->lock);
    qsort(ret, count, sizeof *ret, newest_first);
    return count;
}

static void print_forward(struct json_writer *w, const struct forward *one)
{
    json_object(w);
    json_key_string(w, "RewardId", reward_id_of(one));
    json_key_time_or_null(w, "At", one->at_ms);
    json_key_int_or_null(w, "Status", one->status);
    json_key_int(w, "DurationMs", one->duration_ms);
    json_key_string(w, "Detail", (struct str){one->detail, one->detail_bytes});
    json_end_object(w);
}

void forwards_list(struct call *c)
{
    struct forward *found = call_alloc(c, FORWARDS_OF_ACCOUNT * sizeof *found);
    size_t count = find(c->api->forwards, c->account_no, call_parameter(c, "rewardId"), found);
    struct json_writer *w = call_begin_object(c);
    json_key_array(w, "Items");
    for (size_t i = 0; i < count; i++)
        print_forward(w, &found[i]);
    json_end_array(w);
    call_end_object(c, 200);
}
