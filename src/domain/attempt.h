/* How an attempt of a callback ended: classes and their texts. */
#pragma once

#include "base/buf.h"
#include "domain/request_format.h"

/* Stored: append only. */
enum attempt_class {
    ATTEMPT_OK = 0,
    ATTEMPT_DNS = 1,
    ATTEMPT_DESTINATION_REFUSED = 2,
    ATTEMPT_REFUSED = 3,
    ATTEMPT_CONNECT_TIMEOUT = 4,
    ATTEMPT_TLS = 5,
    ATTEMPT_TIMEOUT = 6,
    ATTEMPT_RESET = 7,
    ATTEMPT_PROTOCOL = 8,
    ATTEMPT_REDIRECT = 9,
    ATTEMPT_STATUS = 10,
    ATTEMPT_GONE = 11,
    ATTEMPT_UNEXPECTED_ANSWER = 12, /* a 2xx without what the app's SuccessAnswer asks for */
};
#define ATTEMPT_CLASSES 13

const char *attempt_class_name(enum attempt_class c); /* "connect_timeout"; "ok" for ATTEMPT_OK */

/* A sentence about what the receiver's owner can do; docs/partners/errors.md has more. */
const char *attempt_fix(enum attempt_class c, int status, enum request_format format);
/* What a status of ATTEMPT_STATUS means, to follow "Answered 405, ". */
const char *attempt_status_text(int status, enum request_format format);

/* True if a failure is about the receiver's health (windows, suspension), false if it is about this
 * callback only. Contract, section 4. */
bool attempt_counts_against_lane(enum attempt_class c, int status);
/* The class of a complete answer, by its status. */
enum attempt_class attempt_class_of_status(int status);
