/* A type that a receiver refuses is told from a receiver that fails. */
#include "domain/refused_types.h"

#include "base/check.h"

#include "check.h"

#define TAKEN EVENT_OFFER_COMPLETED
#define OTHER EVENT_OFFER_CLICKED
#define THIRD EVENT_OFFER_COMPLETION_REVERSED

static bool fails(struct refused_types *r, enum event_type type)
{
    return refused_types_failed(r, type, ATTEMPT_STATUS, 500);
}

static void a_type_is_refused_once_another_succeeds_after_its_failure(void)
{
    struct refused_types r = {0};
    CHECK(!fails(&r, OTHER));
    CHECK(!fails(&r, OTHER));
    refused_types_succeeded(&r, TAKEN);
    CHECK(fails(&r, OTHER));
    CHECK(fails(&r, OTHER));
    CHECK(!fails(&r, THIRD)); /* which nothing is known of */
    CHECK(!fails(&r, TAKEN));
    CHECK(fails(&r, OTHER)); /* still */
}

static void it_ends_with_its_own_success(void)
{
    struct refused_types r = {0};
    CHECK(!fails(&r, OTHER));
    refused_types_succeeded(&r, TAKEN);
    refused_types_succeeded(&r, OTHER);
    CHECK(!fails(&r, OTHER));
    refused_types_succeeded(&r, OTHER); /* no other's */
    CHECK(!fails(&r, OTHER));
}

static void a_receiver_that_fails_altogether_is_told_by_every_type(void)
{
    struct refused_types r = {0};
    refused_types_succeeded(&r, TAKEN);
    refused_types_succeeded(&r, OTHER);
    for (int i = 0; i < 3; i++) {
        CHECK(!fails(&r, TAKEN));
        CHECK(!fails(&r, OTHER));
    }
}

static void only_an_answer_of_the_handler_can_be_about_a_type(void)
{
    static const struct {
        enum attempt_class class;
        int status;
        bool about_type;
    } rows[] = {
        {ATTEMPT_STATUS, 500, true},
        {ATTEMPT_STATUS, 501, true},
        {ATTEMPT_STATUS, 502, false},
        {ATTEMPT_STATUS, 503, false},
        {ATTEMPT_STATUS, 504, false},
        {ATTEMPT_STATUS, 505, true},
        {ATTEMPT_STATUS, 599, true},
        {ATTEMPT_STATUS, 600, false},
        {ATTEMPT_STATUS, 408, false},
        {ATTEMPT_STATUS, 429, false},
        {ATTEMPT_TIMEOUT, 0, false},
        {ATTEMPT_REFUSED, 0, false},
        {ATTEMPT_UNEXPECTED_ANSWER, 200, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct refused_types r = {0};
        CHECK(!fails(&r, OTHER));
        refused_types_succeeded(&r, TAKEN);
        CHECK_EQ_INT(refused_types_failed(&r, OTHER, rows[i].class, rows[i].status),
                     rows[i].about_type);
    }
}

int main(void)
{
    RUN(a_type_is_refused_once_another_succeeds_after_its_failure);
    RUN(it_ends_with_its_own_success);
    RUN(a_receiver_that_fails_altogether_is_told_by_every_type);
    RUN(only_an_answer_of_the_handler_can_be_about_a_type);
    return check_done("refused_types");
}
