/* What each topic of messages is about, in one table. Internal to operations/. */
#pragma once

#include "operations/operations.h"

/* What a message speaks of, and so which of a notice's members it has. */
enum topic_subject {
    SUBJECT_ENDPOINT, /* account, app and kind */
    SUBJECT_APP,      /* account and app: the client certificate that the app shows */
    SUBJECT_ACCOUNT,  /* account and month: a statement */
    SUBJECT_LISTENER, /* node */
    SUBJECT_BOOKS,    /* nothing else */
};

struct topic {
    enum topic_subject subject;
    bool is_operators;    /* told to the operator, and to no partner */
    bool has_health;      /* of an endpoint: its state, what waits and the last error */
    bool has_certificate; /* and so expires_ms */
    enum mail_about about;
    const char *type_when_well, *type_when_expiring; /* as notice_type; NULL: it never is */
};

const struct topic *topic_of(enum operations_topic topic);
