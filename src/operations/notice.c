/* The two JSON texts of a notice: the document for the store, and the body of the webhook. The
 * mail's text: mail_text.c. A message's bytes are fixed before it is first sent, so that each
 * repetition is the same under the same id. */
#include "operations/running.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "domain/clock.h"
#include "json/reader.h"
#include "json/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NODE_KEPT_MS (30 * DAY_MS) /* after its expiry */

void notice_name(const struct notice *as, enum operations_channel channel, uint32_t user_no,
                 char ret[NOTICE_OBJECT_BYTES])
{
    int used;
    if (topic_of(as->topic)->subject == SUBJECT_ACCOUNT)
        used = snprintf(ret, NOTICE_OBJECT_BYTES, "a%u-%d-%d", as->account_no, as->topic, channel);
    else if (as->node[0])
        used = snprintf(ret, NOTICE_OBJECT_BYTES, "n%016" PRIx64 "-%d-%d",
                        hash_fast(as->node, strlen(as->node)), as->topic, channel);
    else
        used = snprintf(ret, NOTICE_OBJECT_BYTES, "%u-%d-%d-%d", as->app_no, as->kind, as->topic,
                        channel);
    if (user_no)
        snprintf(ret + used, NOTICE_OBJECT_BYTES - (size_t)used, "-u%u", user_no);
}

static void name_object(struct notice *n)
{
    notice_name(n, n->channel, n->user_no, n->object_id);
}

void notice_set_user(struct notice *n, uint32_t user_no)
{
    ASSERT(n->channel == OPERATIONS_TO_PERSON && user_no && !n->is_stored);
    n->user_no = user_no;
    name_object(n);
}

bool notice_is_abandoned(const struct notice *n)
{
    return n->node[0] && n->step == NOTICE_IDLE &&
           loop_wall_ms(n->operations->loop) - n->expires_ms >= NODE_KEPT_MS;
}

bool notice_is_ours(const struct notice *n)
{
    struct leases *leases = store_leases(n->operations->options.store);
    return n->channel == OPERATIONS_TO_PERSON ? leases_first(leases)
                                              : leases_have(leases, lane_of(n->app_no, n->kind));
}

bool notice_is_mail(const struct notice *n)
{
    return n->channel == OPERATIONS_BY_MAIL || n->channel == OPERATIONS_TO_PERSON;
}

struct notice *notice_new(struct operations *o, enum operations_topic topic,
                          enum operations_channel channel, uint32_t account_no, uint32_t app_no,
                          enum lane_kind kind)
{
    struct notice *n = xcalloc(1, sizeof *n);
    n->magic = NOTICE_MAGIC;
    n->operations = o;
    n->topic = topic;
    n->channel = channel;
    n->account_no = account_no;
    n->app_no = app_no;
    n->kind = kind;
    n->last_mono_ms = INT64_MIN / 2;
    name_object(n);
    return n;
}

void notice_set_node(struct notice *n, const char *node)
{
    snprintf(n->node, sizeof n->node, "%s", node);
    name_object(n);
}

void notice_free(struct notice *n)
{
    CHECK_MAGIC(n, NOTICE_MAGIC);
    ASSERT(!n->saving && n->step != NOTICE_SENDING && n->step != NOTICE_ASKING && !n->with);
    buf_free(&n->body);
    buf_free(&n->document);
    buf_free(&n->digest);
    buf_free(&n->headers);
    arena_free(&n->arena);
    exchange_free_results(&n->x);
    n->magic = 0;
    free(n);
}

void notice_print_month(struct buf *to, const struct notice *n)
{
    struct buf day = {0};
    clock_print_day(&day, n->month);
    buf_add_str(to, (struct str){day.p, strlen("2026-07")});
    buf_free(&day);
}

const char *notice_type(enum operations_topic topic, enum operations_state state)
{
    switch (state) {
    case OPERATIONS_WELL: return topic_of(topic)->type_when_well;
    case OPERATIONS_SUSPENDED: return "endpoint.suspended";
    case OPERATIONS_DISABLED: return "endpoint.disabled";
    case OPERATIONS_EXPIRING: return topic_of(topic)->type_when_expiring;
    case OPERATIONS_BOOKS_WRONG: return "books.wrong";
    case OPERATIONS_STATEMENT_READY: return "statement.ready";
    }
    UNREACHABLE();
}

/* --- what the store keeps ----------------------------------------------------------------------
 */

void notice_print(struct buf *to, const struct notice *n)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_int(&w, "Topic", n->topic);
    json_key_int(&w, "Channel", n->channel);
    if (n->user_no)
        json_key_int(&w, "User", n->user_no);
    json_key_int(&w, "Account", n->account_no);
    json_key_int(&w, "App", n->app_no);
    json_key_int(&w, "Kind", n->kind);
    json_key_int(&w, "Is", n->is);
    json_key_int(&w, "Told", n->told);
    json_key_int(&w, "Since", n->since_ms);
    json_key_int(&w, "Expires", n->expires_ms);
    if (n->month)
        json_key_int(&w, "Month", n->month);
    json_key_int(&w, "Class", n->class);
    json_key_int(&w, "Status", n->status);
    if (n->has_format)
        json_key_int(&w, "Format", n->format);
    json_key_int(&w, "ErrorAt", n->error_ms);
    json_key_c(&w, "Detail", n->detail);
    if (n->node[0])
        json_key_c(&w, "Node", n->node);
    json_key_int(&w, "Owed", n->owed_ms);
    json_key_int(&w, "Sent", n->sent_ms);
    if (n->id[0]) {
        json_key_int(&w, "Saying", n->saying);
        json_key_c(&w, "Id", n->id);
        json_key_string(&w, "Body", buf_str(&n->body));
    }
    json_end_object(&w);
}

static void read_text(const struct json *object, const char *name, char *to, size_t room,
                      bool *good)
{
    const struct json *m = json_member(object, name);
    if (!m || m->type != JSON_STRING || m->text.n >= room) {
        *good = false;
        return;
    }
    memcpy(to, m->text.p, m->text.n);
    to[m->text.n] = '\0';
}

/* WELL, without a message yet, exists in every topic. */
static bool is_ever(enum operations_topic topic, enum operations_state state)
{
    return state == OPERATIONS_WELL || notice_type(topic, state);
}

static bool read_members(struct notice *n, const struct json *object)
{
    bool good = true;
    n->topic =
        (enum operations_topic)json_member_int(object, "Topic", 0, OPERATIONS_TOPICS - 1, &good);
    n->channel = (enum operations_channel)json_member_int(object, "Channel", 0,
                                                          OPERATIONS_CHANNELS - 1, &good);
    if (n->channel == OPERATIONS_TO_PERSON)
        n->user_no = (uint32_t)json_member_int(object, "User", 1, UINT32_MAX, &good);
    enum topic_subject subject = topic_of(n->topic)->subject;
    bool has_kind = subject == SUBJECT_ENDPOINT, has_app = has_kind || subject == SUBJECT_APP,
         has_account = has_app || subject == SUBJECT_ACCOUNT;
    n->account_no = (uint32_t)json_member_int(object, "Account", has_account, UINT32_MAX, &good);
    n->app_no = (uint32_t)json_member_int(object, "App", has_app, UINT32_MAX, &good);
    n->kind = (enum lane_kind)json_member_int(object, "Kind", has_kind, LANE_LAST, &good);
    n->is = (enum operations_state)json_member_int(object, "Is", 0, OPERATIONS_STATES - 1, &good);
    n->told =
        (enum operations_state)json_member_int(object, "Told", 0, OPERATIONS_STATES - 1, &good);
    n->expires_ms = json_member_int(object, "Expires", 0, INT64_MAX, &good);
    if (subject == SUBJECT_ACCOUNT)
        n->month =
            (int32_t)json_member_int(object, "Month", CLOCK_FIRST_DAY, CLOCK_LAST_DAY, &good);
    n->since_ms = json_member_int(object, "Since", 0, INT64_MAX, &good);
    n->class = (enum attempt_class)json_member_int(object, "Class", 0, ATTEMPT_CLASSES - 1, &good);
    n->status = (int)json_member_int(object, "Status", 0, 999, &good);
    n->has_format = json_member(object, "Format");
    if (n->has_format)
        n->format =
            (enum request_format)json_member_int(object, "Format", 0, REQUEST_FORMAT_LAST, &good);
    n->error_ms = json_member_int(object, "ErrorAt", 0, INT64_MAX, &good);
    n->owed_ms = json_member_int(object, "Owed", 0, INT64_MAX, &good);
    if (json_member(object, "Sent")) /* written by a version that limits across restarts */
        n->sent_ms = json_member_int(object, "Sent", 0, INT64_MAX, &good);
    read_text(object, "Detail", n->detail, sizeof n->detail, &good);
    if (json_member(object, "Node"))
        read_text(object, "Node", n->node, sizeof n->node, &good);
    good = good && is_ever(n->topic, n->is) && is_ever(n->topic, n->told);
    const struct json *body = json_member(object, "Body");
    if (!good || !body)
        return good;
    n->saying =
        (enum operations_state)json_member_int(object, "Saying", 0, OPERATIONS_STATES - 1, &good);
    read_text(object, "Id", n->id, sizeof n->id, &good);
    buf_add_str(&n->body, body->text);
    return good && body->type == JSON_STRING;
}

struct notice *notice_read(struct operations *o, struct str document)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    struct notice *n = notice_new(o, OPERATIONS_OF_HEALTH, OPERATIONS_BY_WEBHOOK, 0, 0, LANE_NONE);
    bool good = json_parse(&arena, document, &object, &why) && read_members(n, object);
    arena_free(&arena);
    if (good) {
        n->is_stored = true;
        name_object(n);
        return n;
    }
    notice_free(n);
    return NULL;
}

/* --- what the partner gets ---------------------------------------------------------------------
 */

const char *notice_fix(const struct notice *n, const struct app *app)
{
    return attempt_fix(n->class, n->status, n->has_format ? n->format : app->request_format);
}

static void print_error(struct json_writer *w, const struct notice *n, const struct app *app)
{
    json_key(w, "LastError");
    if (!n->error_ms || n->is == OPERATIONS_WELL) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_time_or_null(w, "At", n->error_ms);
    json_key_c(w, "Class", attempt_class_name(n->class));
    json_key_int_or_null(w, "Status", n->status);
    json_key_c(w, "Detail", n->detail);
    json_key_c(w, "Fix", notice_fix(n, app));
    json_end_object(w);
}

/* The same key if two nodes report the same month before either knows of the other. */
static void make_statement_key(const struct notice *n, uint8_t ret[16])
{
    const int64_t parts[] = {n->account_no, n->month, n->channel, n->user_no};
    struct key128 key = hash_key128(store_hash_secret(n->operations->options.store), parts,
                                    sizeof parts - (n->user_no ? 0 : sizeof parts[0]));
    memcpy(ret, &key, 16);
}

static void make_id(struct notice *n, struct env *env)
{
    uint8_t random[16];
    env_random(env, random, sizeof random);
    if (topic_of(n->topic)->subject == SUBJECT_ACCOUNT)
        make_statement_key(n, random);
    memcpy(n->id, "ops_", 4);
    hex_print(n->id + 4, random, sizeof random);
    n->id[4 + 2 * sizeof random] = '\0';
}

static void print_endpoint(struct json_writer *w, const struct notice *n, const struct app *app)
{
    json_key_c(w, "Endpoint", lane_kind_name(n->kind));
    json_key_url_masked(w, "Url", app->url[n->kind]);
}

static void print_health(struct json_writer *w, const struct notice *n, const struct app *app)
{
    json_key_c(w, "State",
               n->is == OPERATIONS_SUSPENDED  ? "suspended"
               : n->is == OPERATIONS_DISABLED ? "disabled"
                                              : "open");
    json_key_time_or_null(w, "Since", n->since_ms);
    json_key_int(w, "Waiting", n->waiting.count[n->kind]);
    json_key_time_or_null(w, "OldestWaitingAt", n->waiting.oldest_accepted_ms[n->kind]);
    print_error(w, n, app);
}

static void print_webhook(struct buf *to, const struct notice *n, const struct partner *partner,
                          const struct app *app, int64_t wall_ms)
{
    const struct topic *topic = topic_of(n->topic);
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_c(&w, "Type", notice_type(n->topic, n->is));
    json_key_c(&w, "MessageId", n->id);
    json_key_time(&w, "Timestamp", wall_ms);
    if (topic->subject == SUBJECT_BOOKS) {
        json_key_time_or_null(&w, "Since", n->since_ms);
        json_key_c(&w, "Detail", n->is == OPERATIONS_WELL ? "All books balance." : n->detail);
    }
    if (topic->subject == SUBJECT_ACCOUNT) {
        struct buf month = {0};
        ASSERT(partner);
        notice_print_month(&month, n);
        json_key_string(&w, "PartnerId", partner->id);
        json_key_string(&w, "Month", buf_str(&month));
        buf_free(&month);
    }
    if (app) {
        ASSERT(partner);
        json_key_string(&w, "PartnerId", partner->id);
        json_key_string(&w, "AppId", app->id);
        if (n->kind)
            print_endpoint(&w, n, app);
    }
    if (n->node[0])
        json_key_c(&w, "Node", n->node);
    if (topic->has_certificate)
        json_key_time_or_null(&w, "CertificateExpiresAt", n->expires_ms);
    if (topic->has_health) {
        ASSERT(app); /* its subject is an endpoint */
        print_health(&w, n, app);
    }
    json_end_object(&w);
}

void notice_compose(struct notice *n, const struct partner *partner, const struct app *app,
                    struct env *env, struct str public_url)
{
    make_id(n, env);
    n->saying = n->is;
    buf_clear(&n->body);
    if (notice_is_mail(n))
        mail_text_print(&n->body, n, partner, app, public_url);
    else if (partner && !topic_of(n->topic)->is_operators && partner->operations_format)
        chat_text_print(&n->body, n, partner, app, public_url, partner->operations_format);
    else
        print_webhook(&n->body, n, partner, app, env_wall_ms(env));
}
