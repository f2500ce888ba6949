/* The table of topics. */
#include "operations/topic.h"

const struct topic *topic_of(enum operations_topic topic)
{
    static const struct topic topics[OPERATIONS_TOPICS] = {
        [OPERATIONS_OF_HEALTH] = {SUBJECT_ENDPOINT, .has_health = true,
                                  .about = MAIL_ABOUT_ENDPOINTS,
                                  .type_when_well = "endpoint.recovered"},
        [OPERATIONS_OF_DISABLED] = {SUBJECT_ENDPOINT, .is_operators = true, .has_health = true,
                                    .about = MAIL_ABOUT_ENDPOINTS,
                                    .type_when_well = "endpoint.recovered"},
        [OPERATIONS_OF_CERTIFICATE] = {SUBJECT_ENDPOINT, .has_certificate = true,
                                       .about = MAIL_ABOUT_CERTIFICATES,
                                       .type_when_well = "endpoint.certificate_renewed",
                                       .type_when_expiring = "endpoint.certificate_expiring"},
        [OPERATIONS_OF_CLIENT_CERTIFICATE] = {SUBJECT_APP, .has_certificate = true,
                                              .about = MAIL_ABOUT_CERTIFICATES,
                                              .type_when_well = "app.certificate_renewed",
                                              .type_when_expiring = "app.certificate_expiring"},
        [OPERATIONS_OF_CLIENT_CERTIFICATE_OPERATORS] = {SUBJECT_APP, .is_operators = true,
                                                        .has_certificate = true,
                                                        .about = MAIL_ABOUT_CERTIFICATES,
                                                        .type_when_well = "app.certificate_renewed",
                                                        .type_when_expiring =
                                                            "app.certificate_expiring"},
        [OPERATIONS_OF_LISTENER] = {SUBJECT_LISTENER, .is_operators = true, .has_certificate = true,
                                    .about = MAIL_ABOUT_CERTIFICATES,
                                    .type_when_well = "server.certificate_renewed",
                                    .type_when_expiring = "server.certificate_expiring"},
        [OPERATIONS_OF_BOOKS] = {SUBJECT_BOOKS, .is_operators = true, .about = MAIL_ABOUT_BOOKS,
                                 .type_when_well = "books.hold_again"},
        [OPERATIONS_OF_STATEMENT] = {SUBJECT_ACCOUNT, .about = MAIL_ABOUT_STATEMENTS},
    };
    ASSERT((unsigned)topic < ARRAY_LEN(topics));
    return &topics[topic];
}
