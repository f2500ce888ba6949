/* Hands e-mail to the operator's mail server (SMTP, RFC 5321). It has threads of its own, so
 * nothing else waits if that server is slow or hangs. Up to MAILER_SENDING_MOST mails are in
 * progress at once, at most one of each owner: if an address hangs, only its owner's mails wait.
 * libcurl speaks the protocol. The mailer stores nothing. If the daemon stops before a mail is
 * sent, the module that asked for the mail asks again after the start. */
#pragma once

#include "base/check.h"
#include "base/executor.h"
#include "base/str.h"

#include <stdbool.h>

#define MAILER_SENDING_MOST 16

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
    uint32_t owner; /* takes turns: the account whose people chose the address; 0: operators */
    const char *to;
    struct str subject;      /* ASCII */
    struct str text;         /* UTF-8 */
    const char *id;          /* the Message-ID is made of it, so that a repetition is recognised */
    int64_t wall_ms;         /* its Date */
    struct str settings_url; /* the page on which such mails are turned off; absent: none */
    /* out */
    bool good;
    /* When it is not: */
    bool is_refused;    /* the server refused the address or the text for good (5xx) */
    bool was_addressed; /* it failed after RCPT, so other mails may succeed; otherwise the server
                           was not reached, or takes no mail at all */
    char why[256];      /* a sentence */
    /* the mailer's */
    struct task task;
    struct mailer *mailer;
};

/* smtp://HOST[:PORT], with STARTTLS (RFC 3207) unless the server is on this machine, or
 * smtps://HOST[:PORT], TLS from the start (RFC 8314). False: *ret_why is a sentence. */
MUST_CHECK bool mailer_url_check(const char *url, const char **ret_why);
struct mailer *mailer_new(const struct mailer_options *options);
/* For mails that are sent after this call. Any thread, never blocks. */
void mailer_change(struct mailer *m, const struct mailer_options *options);
/* Any thread, never blocks; a mail belongs to the mailer until its `done` runs. */
void mailer_send(struct mailer *m, struct mail *mail);
/* For a stop. No other mail begins. A mail whose text has been sent waits for the server's answer,
 * for at most five seconds; every other mail under way ends within a second, and is not good. */
void mailer_abort(struct mailer *m);
void mailer_free(struct mailer *m); /* NULL: nothing; no mail may be under way */
