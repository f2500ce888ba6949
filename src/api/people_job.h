/* One request that changes people. It begins on the loop, runs `slow` on the worker thread if a
 * password must be hashed, then `judge` on the control thread, and is answered on the loop. Every
 * job answers its call. */
#pragma once

#include "accounts/fields.h"
#include "api/mutation.h"
#include "api/person.h"

#define JOB_NOTES_MAX 3

struct people_job {
    struct call *c;
    struct people *people;
    const struct json *body; /* NULL: none */
    struct fields fields;    /* of the body */

    /* Its subjects, with references that are released at the end. */
    struct user *user;
    struct session *session;

    /* On the worker for slow calls; NULL: none. False: it has called job_refuse. */
    bool (*slow)(struct people_job *job);
    /* On the control thread: reads everything again (it may have changed), and fills in `change`
     * and the notes. False: it has called job_refuse; the notes are stored all the same. */
    bool (*judge)(struct people_job *job);
    /* On the control thread, after the change is durable and applied; NULL: an empty answer. */
    void (*render)(struct people_job *job, struct json_writer *w);
    int status; /* of the answer */
    bool clears_cookie;
    /* A sign-in by an identity provider is answered by a page: "" or the word for what went wrong.
     * NULL: any other job. */
    const char *problem;
    /* For the audit log; absent: none. */
    struct str provider;        /* its name */
    struct str passkey;         /* its PasskeyId */
    const char *reason;         /* why the sign-in failed */
    struct oidc_client *client; /* a reference, or NULL */
    bool known;                 /* signed in, or a browser of an earlier sign-in */

    /* Values that one step leaves for the next. */
    struct str password, new_password, code, email, name; /* borrowed from the body */
    struct str address, agent;
    struct str link; /* a new one-time link, shown once */
    int64_t link_until_ms;
    enum link_kind link_kind;
    uint8_t link_hash[32];
    char new_hash[PASSWORD_HASH_BYTES];
    char token[TOKEN_BYTES + 1]; /* of a new or changed session: becomes the cookie */
    char recovery[RECOVERY_CODES][RECOVERY_CODE_BYTES + 1];
    struct people_change change;
    struct audit_note notes[JOB_NOTES_MAX];
    size_t note_count;

    /* The refusal: an HTTP status, with a sentence or c->problems. */
    int refusal;
    const char *refusal_text; /* literal, or in the call's arena; NULL: see c->problems */
    int64_t retry_after_s;

    /* people_job.c's own. */
    struct task task;
    enum store_status stored;
    struct buf answer, headers;
};

/* In the call's arena. with_body: reads the body. NULL: an error was answered. */
struct people_job *people_job_new(struct call *c, bool with_body);
/* Begins the job. If there are problems with the fields, answers 400 instead. */
void people_job_run(struct people_job *job);
bool job_refuse(struct people_job *job, int status, const char *text); /* false */
bool job_refuse_field(struct people_job *job, const char *field, const char *code,
                      const char *detail); /* 400; false */
/* A new audit note for the caller to fill in. It is stored with the change, or alone if the job is
 * refused. */
struct audit_note *job_note(struct people_job *job, const char *action, uint32_t account_no);
/* A note about a change of a user. before NULL: it is created; after NULL: it is removed. */
void job_note_user(struct people_job *job, const char *action, const struct user *before,
                   const struct user *after);
/* A note that sign-ins are refused for some time; `of`: the account, the address or the device. */
void job_note_throttled(struct people_job *job, const char *of);
/* Redirects the browser to the dashboard, with a word for what went wrong ("": nothing). */
void people_job_return(struct call *c, const char *problem);
void job_note_session(struct people_job *job, const char *action, uint32_t account_no,
                      struct str session_id, struct str user_id);
