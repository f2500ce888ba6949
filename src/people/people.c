/* The registry of users and sessions. There are few users (people, not panelists), so lists walk
 * all of them; each request's look-ups (a session by its token, its user) use an index. Invariants:
 * a user is in `users`; a session is in `sessions` and, by its token's hash, in `tokens`, with one
 * reference for both. An e-mail address is unique only within an account: inviting a person must
 * neither depend on nor reveal whom another account has. */
#include "people/people_state.h"

#include "accounts/entry.h"
#include "base/alloc.h"
#include "domain/acceptance_times.h"
#include "domain/clock.h"
#include "people/mailed_link.h"

#include <sodium.h>
#include <stdlib.h>

#define SET_UP_MS DAY_MS
#define PENDING_MS (15 * MINUTE_MS)

struct people *people_new(const struct people_options *options)
{
    struct people *p = xcalloc(1, sizeof *p);
    p->magic = PEOPLE_MAGIC;
    p->options = *options;
    pthread_mutex_init(&p->lock, NULL);
    env_random(options->env, &p->users.secret, sizeof p->users.secret);
    p->sessions.secret = p->tokens.secret = p->by_account.secret = p->users.secret;
    return p;
}

static void unref_all(struct index *ix)
{
    for (struct index_node *at = index_after(ix, NULL); at; at = index_after(ix, at))
        entry_unref(at->entry);
}

static void free_by_account(struct people *p)
{
    for (struct index_node *at = index_after(&p->by_account, NULL); at;
         at = index_after(&p->by_account, at)) {
        struct account_users *a = at->entry;
        free(a->users);
        free(a);
    }
    index_free(&p->by_account);
}

void people_free(struct people *p)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    unref_all(&p->users);
    unref_all(&p->sessions);
    free_by_account(p);
    index_free(&p->users);
    index_free(&p->sessions);
    index_free(&p->tokens);
    pthread_mutex_destroy(&p->lock);
    sodium_memzero(p, sizeof *p);
    free(p);
}

static void lock(struct people *p)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    pthread_mutex_lock(&p->lock);
}

static void unlock(struct people *p)
{
    pthread_mutex_unlock(&p->lock);
}

static struct str hash_id(const uint8_t hash[32])
{
    return (struct str){(const char *)hash, 32};
}

/* --- look-ups --------------------------------------------------------------------------------- */

static void *find(struct people *p, const struct index *ix, struct str id)
{
    lock(p);
    void *entry = index_find(ix, id);
    if (entry)
        entry_ref(entry);
    unlock(p);
    return entry;
}

struct user *people_user(struct people *p, struct str id)
{
    return find(p, &p->users, id);
}

struct user *people_user_by_email(struct people *p, uint32_t account_no, struct str email)
{
    struct user *found = NULL;
    lock(p);
    for (struct index_node *at = index_after(&p->users, NULL); at && !found;
         at = index_after(&p->users, at)) {
        struct user *u = at->entry;
        if (u->account_no == account_no && str_eq(u->email, email))
            found = entry_ref(u);
    }
    unlock(p);
    return found;
}

struct user *people_user_by_subject(struct people *p, uint32_t account_no, struct str issuer,
                                    struct str subject)
{
    struct user *found = NULL;
    lock(p);
    for (struct index_node *at = index_after(&p->users, NULL); at && !found;
         at = index_after(&p->users, at)) {
        struct user *u = at->entry;
        if (u->account_no == account_no && u->subject.p && str_eq(u->subject, subject) &&
            str_eq(u->issuer, issuer))
            found = entry_ref(u);
    }
    unlock(p);
    return found;
}

size_t people_users_by_email(struct people *p, struct str email,
                             struct user *ret[EMAIL_ACCOUNTS_MOST])
{
    size_t count = 0;
    lock(p);
    for (struct index_node *at = index_after(&p->users, NULL); at;
         at = index_after(&p->users, at)) {
        struct user *u = at->entry;
        if (u->enabled && u->password.p && count < EMAIL_ACCOUNTS_MOST && str_eq(u->email, email))
            ret[count++] = entry_ref(u);
    }
    unlock(p);
    return count;
}

struct user *people_first_with_password(struct people *p, struct str email, struct str but_id)
{
    struct user *first = NULL;
    lock(p);
    for (struct index_node *at = index_after(&p->users, NULL); at;
         at = index_after(&p->users, at)) {
        struct user *u = at->entry;
        if (u->password.p && str_eq(u->email, email) && !str_eq(u->id, but_id) &&
            (!first || u->user_no < first->user_no))
            first = u;
    }
    if (first)
        entry_ref(first);
    unlock(p);
    return first;
}

struct session *people_session(struct people *p, struct str id)
{
    return find(p, &p->sessions, id);
}

struct user *people_user_by_link(struct people *p, const uint8_t hash[32], int64_t now_ms)
{
    struct user *found = NULL;
    lock(p);
    for (struct index_node *at = index_after(&p->users, NULL); at;
         at = index_after(&p->users, at)) {
        struct user *u = at->entry;
        if (u->link == LINK_NONE || sodium_memcmp(u->link_hash, hash, 32) != 0)
            continue;
        const struct user *maker = u->link_by.p ? index_find(&p->users, u->link_by) : NULL;
        if (user_link_is_good(u, maker, now_ms))
            found = entry_ref(u);
    }
    unlock(p);
    return found;
}

bool session_use_is_news(const struct session *s, int64_t used_ms)
{
    return used_ms - s->stored_used_ms > SESSION_USED_LAG_MS ||
           acceptance_goes_back(s->stored_used_ms, used_ms);
}

void session_use(struct session *s, int64_t now_ms)
{
    int64_t used_ms = atomic_load(&s->used_ms);
    if (now_ms > used_ms || acceptance_goes_back(used_ms, now_ms))
        atomic_store(&s->used_ms, now_ms);
}

bool session_is_over(const struct session *s, int64_t now_ms)
{
    return now_ms >= s->created_ms + SESSION_AGE_MS ||
           now_ms >= atomic_load(&s->used_ms) + SESSION_IDLE_MS;
}

struct session *people_session_by_token(struct people *p, struct str token, int64_t now_ms,
                                        struct user **ret_user)
{
    uint8_t hash[32];
    token_hash(token, hash);
    lock(p);
    struct session *s = index_find(&p->tokens, hash_id(hash));
    struct user *u = s ? index_find(&p->users, s->user_id) : NULL;
    bool good = u && u->enabled && !session_is_over(s, now_ms) &&
                sodium_memcmp(s->hash, hash, sizeof hash) == 0;
    if (good) {
        *ret_user = entry_ref(u);
        entry_ref(s);
    }
    unlock(p);
    return good ? s : NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

static struct account_users *users_of(const struct people *p, uint32_t account_no)
{
    return index_find(&p->by_account, (struct str){(const char *)&account_no, sizeof account_no});
}

/* The number of the account's users with a number below this one. */
static size_t count_below(const struct account_users *a, uint32_t user_no)
{
    size_t low = 0, high = a->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->users[middle]->user_no < user_no)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_user(struct people *p, struct user *u)
{
    struct account_users *a = users_of(p, u->account_no);
    if (!a) {
        a = xcalloc(1, sizeof *a);
        a->account_no = u->account_no;
        index_put(&p->by_account, (struct str){(const char *)&a->account_no, sizeof a->account_no},
                  a);
    }
    size_t at = count_below(a, u->user_no);
    a->users = xgrow(a->users, &a->capacity, a->count + 1, sizeof(struct user *));
    memmove(a->users + at + 1, a->users + at, (a->count - at) * sizeof(struct user *));
    a->users[at] = u;
    a->count++;
    p->mails_owed += user_mail_is_owed(u);
}

static void unlist_user(struct people *p, const struct user *u)
{
    struct account_users *a = users_of(p, u->account_no);
    ASSERT(a);
    size_t at = count_below(a, u->user_no);
    while (at < a->count && a->users[at] != u)
        at++; /* a damaged store may repeat a number */
    ASSERT(at < a->count);
    a->count--;
    p->mails_owed -= user_mail_is_owed(u);
    memmove(a->users + at, a->users + at + 1, (a->count - at) * sizeof(struct user *));
}

/* Every loop takes this lock at each request with a session: so it looks only at this account's
 * users. */
size_t people_count_users(struct people *p, uint32_t account_no)
{
    lock(p);
    const struct account_users *a = users_of(p, account_no);
    size_t count = a ? a->count : 0;
    unlock(p);
    return count;
}

size_t people_list_users(struct people *p, uint32_t account_no, uint32_t before_no,
                         struct user **ret, size_t limit)
{
    size_t n = 0;
    lock(p);
    const struct account_users *a = users_of(p, account_no);
    size_t at = !a ? 0 : before_no ? count_below(a, before_no) : a->count;
    while (n < limit && at > 0)
        ret[n++] = entry_ref(a->users[--at]);
    unlock(p);
    return n;
}

static int by_use(const void *a, const void *b)
{
    const struct session *const *x = a, *const *y = b;
    long long left = atomic_load(&(*x)->used_ms), right = atomic_load(&(*y)->used_ms);
    return (right > left) - (right < left);
}

/* Every session of the user, ended or not, latest use first; under the lock, without references. */
static size_t sessions_of(const struct people *p, struct str user_id,
                          struct session *ret[SESSIONS_PER_USER])
{
    size_t n = 0;
    for (struct index_node *at = index_after(&p->sessions, NULL); at && n < SESSIONS_PER_USER;
         at = index_after(&p->sessions, at)) {
        struct session *s = at->entry;
        if (str_eq(s->user_id, user_id))
            ret[n++] = s;
    }
    qsort(ret, n, sizeof(struct session *), by_use);
    return n;
}

size_t people_list_sessions(struct people *p, struct str user_id, int64_t now_ms,
                            struct session *ret[SESSIONS_PER_USER])
{
    struct session *all[SESSIONS_PER_USER];
    size_t n = 0;
    lock(p);
    size_t count = sessions_of(p, user_id, all);
    for (size_t i = 0; i < count; i++)
        if (!session_is_over(all[i], now_ms))
            ret[n++] = entry_ref(all[i]);
    unlock(p);
    return n;
}

bool people_any(struct people *p)
{
    lock(p);
    bool any = p->users.nodes.count > 0 || p->users_left_out;
    unlock(p);
    return any;
}

bool people_is_last(struct people *p, const struct user *u)
{
    bool others = !role_is_needed(u->role) || !u->enabled;
    lock(p);
    for (struct index_node *at = index_after(&p->users, NULL); at && !others;
         at = index_after(&p->users, at)) {
        const struct user *o = at->entry;
        others = o->account_no == u->account_no && o->role == u->role && o->enabled &&
                 !str_eq(o->id, u->id);
    }
    unlock(p);
    return !others;
}

/* --- what is only in memory ------------------------------------------------------------------- */

void people_offer_set_up(struct people *p, char ret_token[TOKEN_BYTES + 1])
{
    lock(p);
    token_make(p->options.env, ret_token, p->set_up_hash);
    p->set_up_until_ms = env_wall_ms(p->options.env) + SET_UP_MS;
    unlock(p);
}

int64_t people_set_up_until_ms(struct people *p, const uint8_t hash[32], int64_t now_ms)
{
    lock(p);
    bool good = p->users.nodes.count == 0 && !p->users_left_out && now_ms < p->set_up_until_ms &&
                sodium_memcmp(p->set_up_hash, hash, 32) == 0;
    int64_t until = good ? p->set_up_until_ms : 0;
    unlock(p);
    return until;
}

/* The session's place; with `make`, otherwise the oldest one. */
static struct pending_factor *pending_of(struct people *p, struct str session_id, bool make)
{
    struct pending_factor *oldest = &p->pending[0];
    for (size_t i = 0; i < PENDING_FACTORS; i++) {
        struct pending_factor *f = &p->pending[i];
        if (str_eq((struct str){f->session_id, f->session_id_n}, session_id))
            return f;
        if (f->at_ms < oldest->at_ms)
            oldest = f;
    }
    return make ? oldest : NULL;
}

void people_set_pending_factor(struct people *p, struct str session_id,
                               const uint8_t secret[TOTP_SECRET_BYTES], int64_t now_ms)
{
    ASSERT(session_id.n <= sizeof p->pending[0].session_id);
    lock(p);
    struct pending_factor *f = pending_of(p, session_id, true);
    f->session_id_n = session_id.n;
    memcpy(f->session_id, session_id.p, session_id.n);
    memcpy(f->secret, secret, sizeof f->secret);
    f->at_ms = now_ms;
    unlock(p);
}

bool people_pending_factor(struct people *p, struct str session_id, int64_t now_ms,
                           uint8_t ret_secret[TOTP_SECRET_BYTES])
{
    lock(p);
    const struct pending_factor *f = pending_of(p, session_id, false);
    bool good = f && f->at_ms && now_ms < f->at_ms + PENDING_MS;
    if (good)
        memcpy(ret_secret, f->secret, sizeof f->secret);
    unlock(p);
    return good;
}

/* --- changes ---------------------------------------------------------------------------------- */

uint32_t people_next_no(struct people *p)
{
    lock(p);
    uint32_t no = ++p->last_no;
    unlock(p);
    return no;
}

void people_put_user(struct people *p, struct user *u)
{
    lock(p);
    struct user *was = index_put(&p->users, u->id, u);
    if (was)
        unlist_user(p, was);
    list_user(p, u);
    if (u->user_no > p->last_no)
        p->last_no = u->user_no;
    unlock(p);
    entry_unref(was);
}

void people_put_session(struct people *p, struct session *s)
{
    lock(p);
    struct session *was = index_find(&p->sessions, s->id);
    if (was) {
        int64_t used_ms = atomic_load(&was->used_ms); /* may have changed meanwhile */
        if (used_ms > atomic_load(&s->used_ms))
            atomic_store(&s->used_ms, used_ms);
        index_remove(&p->tokens, hash_id(was->hash));
    }
    index_put(&p->tokens, hash_id(s->hash), s);
    index_put(&p->sessions, s->id, s);
    unlock(p);
    entry_unref(was);
}

void people_remove_user(struct people *p, struct str id)
{
    lock(p);
    struct user *was = index_remove(&p->users, id);
    if (was)
        unlist_user(p, was);
    unlock(p);
    entry_unref(was);
}

void people_remove_session(struct people *p, struct str id)
{
    lock(p);
    struct session *was = index_remove(&p->sessions, id);
    if (was)
        index_remove(&p->tokens, hash_id(was->hash));
    unlock(p);
    entry_unref(was);
}

size_t people_every_session(struct people *p, struct str user_id,
                            struct session *ret[SESSIONS_PER_USER])
{
    lock(p);
    size_t n = sessions_of(p, user_id, ret);
    for (size_t i = 0; i < n; i++)
        entry_ref(ret[i]);
    unlock(p);
    return n;
}
