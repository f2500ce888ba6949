/* What people.c, load_people.c and change.c share. Internal to people/. */
#pragma once

#include "base/index.h"
#include "people/people.h"
#include "json/reader.h"

#include <pthread.h>

#define PEOPLE_MAGIC 0x9e0917e1u
#define PENDING_FACTORS 64 /* beyond, the oldest begun has to be begun again */

struct pending_factor {
    char session_id[64];
    size_t session_id_n;
    int64_t at_ms; /* 0: free */
    uint8_t secret[TOTP_SECRET_BYTES];
};

/* The users of one account by their number; never freed while there is a registry. */
struct account_users {
    uint32_t account_no;
    struct user **users; /* references are those of `users` below */
    size_t count, capacity;
};

struct people {
    uint32_t magic;
    struct people_options options;
    pthread_mutex_t lock; /* everything below */
    struct index users, sessions, tokens;
    struct index by_account; /* by the bytes of its number: struct account_users */
    uint32_t last_no;
    size_t mails_owed;   /* users of whom user_mail_is_owed */
    bool users_left_out; /* at the start: somebody is there all the same */
    uint8_t set_up_hash[32];
    int64_t set_up_until_ms; /* 0: none is offered */
    struct pending_factor pending[PENDING_FACTORS];
};

/* Each takes the reference; who was there under the id is let go. */
void people_put_user(struct people *people, struct user *u);
void people_put_session(struct people *people, struct session *s);
void people_remove_user(struct people *people, struct str id);
void people_remove_session(struct people *people, struct str id);
/* Over or not, latest use first; a reference each. */
size_t people_every_session(struct people *people, struct str user_id,
                            struct session *ret[SESSIONS_PER_USER]);
