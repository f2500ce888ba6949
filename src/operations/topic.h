/* The topics of messages, in one table. Internal to operations/. */
#pragma once

#include "operations/operations.h"

/* A message's subject, which determines the notice's members in use. */
enum topic_subject {
    SUBJECT_ENDPOINT, /* account, app and kind */
    SUBJECT_APP,      /* account and app: the client certificate that the app shows */
    SUBJECT_ACCOUNT,  /* account and month: a statement */
    SUBJECT_LISTENER, /* node */
    SUBJECT_BOOKS,    /* no member */
};

struct topic {
    enum topic_subject subject;
    bool is_operators;    /* for the operator only */
    bool has_health;      /* of an endpoint: its state, what waits and the last error */
    bool has_certificate; /* and expires_ms */
    enum mail_about about;
    const char *type_when_well, *type_when_expiring; /* as notice_type; NULL: never */
};

const struct topic *topic_of(enum operations_topic topic);
