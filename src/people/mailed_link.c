/* See mailed_link.h. */
#include "people/mailed_link.h"

#include "accounts/entry.h"
#include "people/people_state.h"

#include <inttypes.h>
#include <sodium.h>

static void derive(const uint8_t key[MASTER_KEY_BYTES], const struct user *u,
                   char ret_token[TOKEN_BYTES + 1], uint8_t ret_hash[32])
{
    token_derive(key, ret_token, "one-time link %.*s %" PRId64, STR_ARG(u->id), u->link_made_ms);
    token_hash(str_of(ret_token), ret_hash);
}

void mailed_link_make(struct people *p, struct user *next, int64_t now_ms,
                      char ret_token[TOKEN_BYTES + 1])
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    derive(p->options.vault.key, next, ret_token, next->link_hash);
    next->mail_owed_ms = now_ms;
}

bool mailed_link_token(struct people *p, const struct user *u, char ret_token[TOKEN_BYTES + 1])
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    uint8_t hash[32];
    derive(p->options.vault.key, u, ret_token, hash);
    if (sodium_memcmp(hash, u->link_hash, sizeof hash) == 0)
        return true;
    if (!p->options.vault.has_second)
        return false;
    derive(p->options.vault.second, u, ret_token, hash);
    return sodium_memcmp(hash, u->link_hash, sizeof hash) == 0;
}

bool mailed_link_is_owed(const struct user *u)
{
    return u->link != LINK_NONE && u->mail_owed_ms > 0;
}

bool user_mail_is_owed(const struct user *u)
{
    return mailed_link_is_owed(u) || u->reset_mail_ms > 0;
}

size_t people_mails_owed(struct people *p)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    pthread_mutex_lock(&p->lock);
    size_t owed = p->mails_owed;
    pthread_mutex_unlock(&p->lock);
    return owed;
}

struct user *people_next_mail(struct people *p, const struct mail_turns *turns)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    struct user *next = NULL;
    pthread_mutex_lock(&p->lock);
    for (struct index_node *at = index_after(&p->users, NULL); at && p->mails_owed > 0;
         at = index_after(&p->users, at)) {
        struct user *u = at->entry;
        if (user_mail_is_owed(u) && turns->may_go(turns->context, u) &&
            (!next || turns->is_before(turns->context, u, next)))
            next = u;
    }
    if (next)
        entry_ref(next);
    pthread_mutex_unlock(&p->lock);
    return next;
}
