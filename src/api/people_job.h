/* One request that changes people, on its way: loop - worker for slow calls, where a password is
 * stretched - control thread - loop. It answers the call in every case. */
#pragma once

#include "accounts/fields.h"
#include "api/mutation.h"
#include "api/person.h"

#define JOB_NOTES_MAX 3

struct people_job {
    struct call *c;
    struct people *people;
    const struct json *body; /* NULL: none */
    struct fields fields;    /* over the body */

    /* What it works on: references, given back at the end. */
    struct user *user;
    struct session *session;

    /* On the worker for slow calls; NULL: none. False: job_refuse has been called. */
    bool (*slow)(struct people_job *job);
    /* On the control thread: looks again at everything (it may have changed since), fills in
     * `change` and notes. False: job_refuse has been called; notes are kept all the same. */
    bool (*judge)(struct people_job *job);
    /* On the control thread, when it is durable and applied; NULL: an empty answer. */
    void (*render)(struct people_job *job, struct json_writer *w);
    int status; /* of the answer */
    bool clears_cookie;
    /* Of a sign-in by an identity provider, which is answered by a page: "", or the word for what
     * went wrong. NULL: of anything else. */
    const char *problem;
    /* For the audit log; absent: none. */
    struct str provider;        /* its name */
    struct str passkey;         /* its PasskeyId */
    const char *reason;         /* why it did not sign in */
    struct oidc_client *client; /* a reference, or NULL */
    bool known;                 /* signed in, or by a device of an earlier sign-in */

    /* Between the steps. */
    struct str password, new_password, code, email, name; /* borrowed from the body */
    struct str address, agent;
    struct str link; /* a one-time link that was made, to be shown once */
    int64_t link_until_ms;
    enum link_kind link_kind;
    uint8_t link_hash[32];
    char new_hash[PASSWORD_HASH_BYTES];
    char token[TOKEN_BYTES + 1]; /* of a session begun or changed: becomes the cookie */
    char recovery[RECOVERY_CODES][RECOVERY_CODE_BYTES + 1];
    struct people_change change;
    struct audit_note notes[JOB_NOTES_MAX];
    size_t note_count;

    /* The refusal: a status, and a sentence or faults in c->problems. */
    int refusal;
    const char *refusal_text; /* literal; NULL: the faults are the body's */
    int64_t retry_after_s;

    /* people_job.c's own. */
    struct task task;
    enum store_status stored;
    struct buf answer, headers;
};

/* In the call's arena; reads the body where there must be one. NULL: answered already. */
struct people_job *people_job_new(struct call *c, bool with_body);
/* Faults in the fields answer 400 here. */
void people_job_run(struct people_job *job);
bool job_refuse(struct people_job *job, int status, const char *text); /* false */
bool job_refuse_field(struct people_job *job, const char *field, const char *code,
                      const char *detail); /* 400; false */
/* To be filled in; kept with the change, or without it where the job is refused. */
struct audit_note *job_note(struct people_job *job, const char *action, uint32_t account_no);
/* A note about the account of `about`, as it will be and as it is; NULL: nothing there. */
void job_note_user(struct people_job *job, const char *action, const struct user *before,
                   const struct user *after);
/* Nobody may try to sign in for some time: of the account, the address or the device. */
void job_note_throttled(struct people_job *job, const char *of);
/* A page again: the dashboard's, with the word for what went wrong ("": nothing). */
void people_job_return(struct call *c, const char *problem);
void job_note_session(struct people_job *job, const char *action, uint32_t account_no,
                      struct str session_id, struct str user_id);
