/* What people.c, load_people.c and change.c share. Internal to people/. */
#pragma once

#include "base/index.h"
#include "people/people.h"
#include "json/reader.h"

#include <pthread.h>

#define PEOPLE_MAGIC 0x9e0917e1u
#define PENDING_FACTORS 64 /* beyond, the oldest one is forgotten */

struct pending_factor {
    char session_id[64];
    size_t session_id_n;
    int64_t at_ms; /* 0: free */
    uint8_t secret[TOTP_SECRET_BYTES];
};

/* The users of one account, by number; lives as long as struct people. */
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
    size_t mails_owed;   /* users with user_mail_is_owed */
    bool users_left_out; /* at the start; they count as existing users */
    uint8_t set_up_hash[32];
    int64_t set_up_until_ms; /* 0: none is offered */
    struct pending_factor pending[PENDING_FACTORS];
};

/* The put functions take over the reference, and release the one stored under the id before. */
void people_put_user(struct people *people, struct user *u);
void people_put_session(struct people *people, struct session *s);
void people_remove_user(struct people *people, struct str id);
void people_remove_session(struct people *people, struct str id);
/* Includes ended ones, latest use first; a reference each. */
size_t people_every_session(struct people *people, struct str user_id,
                            struct session *ret[SESSIONS_PER_USER]);
