/* Hands e-mail to the operator's mail server (SMTP, RFC 5321), one message after the other, on a
 * thread of its own: whatever that server does, nothing else waits. libcurl does the work. It keeps
 * nothing: whose mail is lost by a stop sends it again. */
#pragma once

#include "base/check.h"
#include "base/executor.h"
#include "base/str.h"

#include <stdbool.h>

struct mailer_options {
    const char *url;             /* see mailer_url_check */
    const char *user, *password; /* NULL: the server asks for none */
    const char *from;
    const char *ca_file; /* NULL: the system's authorities */
};

struct mailer;

struct mail {
    /* in; texts are valid until done */
    struct task done;
    struct executor *reply_to;
    uint32_t owner; /* they take turns */
    const char *to;
    struct str subject;      /* ASCII */
    struct str text;         /* UTF-8 */
    const char *id;          /* its Message-ID is made of it: a repetition is known by it */
    int64_t wall_ms;         /* its Date */
    struct str settings_url; /* the page on which such mails are turned off; absent: none */
    /* out */
    bool good;
    bool is_refused; /* when it is not: for good, as the server knows no such address (5xx) */
    char why[256];   /* a sentence, when it is not */
    /* the mailer's */
    struct task task;
    struct mailer *mailer;
};

/* smtp://HOST[:PORT], with STARTTLS but on this machine (RFC 3207), or smtps://HOST[:PORT], TLS
 * from the start (RFC 8314). False: *ret_why is a sentence. */
MUST_CHECK bool mailer_url_check(const char *url, const char **ret_why);
struct mailer *mailer_new(const struct mailer_options *options);
/* For what is sent behind this call. Any thread, never blocks. */
void mailer_change(struct mailer *m, const struct mailer_options *options);
/* Any thread, never blocks; a mail belongs to the mailer until its `done` runs. */
void mailer_send(struct mailer *m, struct mail *mail);
/* What is under way ends soon, and nothing more is sent: each mail is done, and not good. */
void mailer_abort(struct mailer *m);
void mailer_free(struct mailer *m); /* NULL too; none is under way */
