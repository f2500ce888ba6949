/* Decides which buckets a failed try is counted in; see tries.h. */
#include "api/tries.h"

#include "api/internal.h"
#include "base/log.h"
#include "people/device.h"

/* Tries in a full bucket, and milliseconds until one comes back. */
static const struct throttle_rule of_pair = {10, MINUTE_MS};
static const struct throttle_rule of_device = {10, MINUTE_MS};
static const struct throttle_rule of_client = {50, 10000};   /* it may be a whole office */
static const struct throttle_rule of_account = {200, 10000}; /* from all addresses together */
static const struct throttle_rule of_mails = {20, 180000};   /* against flooding others with mail */

void tries_new(struct api *api)
{
    api->pair_tries = throttle_new(of_pair);
    api->device_tries = throttle_new(of_device);
    api->client_tries = throttle_new(of_client);
    api->account_tries = throttle_new(of_account);
    api->mails = throttle_new(of_mails);
}

void tries_free(struct api *api)
{
    throttle_free(api->pair_tries);
    throttle_free(api->device_tries);
    throttle_free(api->client_tries);
    throttle_free(api->account_tries);
    throttle_free(api->mails);
}

#define BUCKETS_MOST 3

struct bucket_of {
    struct throttle *throttle;
    struct str who;
    const char *of; /* the bucket's name in the audit log */
};

static struct str joined(struct people_job *job, const char *kind, struct str a, struct str b)
{
    struct buf text = {0};
    buf_add_c(&text, kind);
    buf_add_str(&text, a);
    buf_add_str(&text, b);
    return arena_take(&job->c->r->arena, &text);
}

/* The device of an earlier sign-in with this Email; absent: none. */
static struct str known_device(struct people_job *job, struct str account)
{
    struct str token = person_device(job->c);
    struct user *users[EMAIL_ACCOUNTS_MOST];
    size_t count = token.p ? people_users_by_email(job->people, account, users) : 0;
    bool known = false;
    for (size_t i = 0; i < count; i++) {
        known |= device_is_of(job->people, token, users[i]->id);
        user_unref(users[i]);
    }
    return known ? token : STR_NONE;
}

static size_t buckets_of(struct people_job *job, struct str account,
                         struct bucket_of ret[BUCKETS_MOST])
{
    const struct call *c = job->c;
    struct api *api = c->api;
    struct str client = address_site(&c->r->peer), device = known_device(job, account);
    if (c->person.session_id.p || device.p) {
        struct str who = device.p ? device : joined(job, "user ", account, STR_NONE);
        ret[0] = (struct bucket_of){api->device_tries, who, "device"};
        return 1;
    }
    ret[0] = (struct bucket_of){api->pair_tries, joined(job, "", client, account), "address"};
    ret[1] = (struct bucket_of){api->client_tries, client, "address"};
    ret[2] = (struct bucket_of){api->account_tries, account, "account"};
    return BUCKETS_MOST;
}

static bool refuse(struct people_job *job, int64_t wait_ms, const char *text)
{
    job->retry_after_s = (wait_ms + 999) / 1000;
    return wait_ms == 0 || job_refuse(job, 429, text);
}

bool tries_left(struct people_job *job, struct str account)
{
    struct bucket_of buckets[BUCKETS_MOST];
    size_t count = buckets_of(job, account, buckets);
    int64_t now = env_mono_ms(job->c->api->options.env), longest = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t wait = throttle_wait_ms(buckets[i].throttle, buckets[i].who, now);
        if (wait > longest)
            longest = wait;
    }
    job->known = count == 1;
    return refuse(job, longest, "Too many wrong attempts. Wait before the next one.");
}

void tries_failed(struct people_job *job, struct str account)
{
    struct bucket_of buckets[BUCKETS_MOST];
    size_t count = buckets_of(job, account, buckets);
    int64_t now = env_mono_ms(job->c->api->options.env);
    const char *of = NULL;
    for (size_t i = 0; i < count; i++)
        if (throttle_fail(buckets[i].throttle, buckets[i].who, now))
            of = buckets[i].of;
    if (!of)
        return;
    log_warning("sign_in_throttled", LOG_STR("from", job->address), LOG_C("of", of),
                LOG_STR("user", job->user ? job->user->id : STR("unknown")));
    job_note_throttled(job, of);
}

void tries_forgive(struct people_job *job, struct str account)
{
    struct bucket_of buckets[BUCKETS_MOST];
    (void)buckets_of(job, account, buckets);
    throttle_forgive(buckets[0].throttle, buckets[0].who); /* the device's, or the pair's */
}

static bool take_mail(struct people_job *job, struct str who)
{
    int64_t now_ms = env_mono_ms(job->c->api->options.env);
    bool left = throttle_wait_ms(job->c->api->mails, who, now_ms) == 0;
    if (left && throttle_fail(job->c->api->mails, who, now_ms))
        log_warning("mails_throttled", LOG_STR("from", job->address));
    return left;
}

bool tries_take_mail_of_account(struct people_job *job, uint32_t account_no)
{
    struct str account = {(const char *)&account_no, sizeof account_no};
    return take_mail(job, joined(job, "account ", account, STR_NONE));
}

bool tries_take_mail_of_site(struct people_job *job)
{
    return take_mail(job, joined(job, "site ", address_site(&job->c->r->peer), STR_NONE));
}

static bool left_of_site(struct people_job *job, const char *kind, const char *text)
{
    struct str who = joined(job, kind, address_site(&job->c->r->peer), STR_NONE);
    int64_t wait =
        throttle_wait_ms(job->c->api->client_tries, who, env_mono_ms(job->c->api->options.env));
    return refuse(job, wait, text);
}

static void failed_of_site(struct people_job *job, const char *kind, const char *event)
{
    struct str who = joined(job, kind, address_site(&job->c->r->peer), STR_NONE);
    if (throttle_fail(job->c->api->client_tries, who, env_mono_ms(job->c->api->options.env)))
        log_warning(event, LOG_STR("from", job->address));
}

bool tries_left_of_links(struct people_job *job)
{
    return left_of_site(job, "link ", "Too many wrong links. Wait before the next attempt.");
}

void tries_failed_of_links(struct people_job *job)
{
    failed_of_site(job, "link ", "links_throttled");
}

bool tries_left_of_providers(struct people_job *job)
{
    return left_of_site(job, "provider ", "Too many failed sign-ins. Wait before the next one.");
}

void tries_failed_of_providers(struct people_job *job)
{
    failed_of_site(job, "provider ", "sign_ins_throttled");
}
