/* When a message goes by mail: the first at once, what follows after the spacing, and as one mail
 * or a few, of which there are 20 in an hour. */
#include "check.h"

#include "operations/running.h"

#define SPACING_MS 300000

static struct notice *add(struct operations *o, enum operations_topic topic, uint32_t app_no)
{
    struct notice *n = notice_new(o, topic, OPERATIONS_BY_MAIL, 7, app_no, LANE_SUCCESS);
    n->next = o->notices;
    o->notices = n;
    return n;
}

/* Its mail was begun so long ago. */
static void add_sent(struct operations *o, enum operations_topic topic, uint32_t app_no,
                     int64_t ago_ms)
{
    struct notice *n = add(o, topic, app_no);
    n->last_mono_ms = loop_mono_ms(o->loop) - ago_ms;
    n->sent_ms = 1 + 10 * MAILS_MS - ago_ms;
}

static void begin(struct operations *o)
{
    *o = (struct operations){.magic = OPERATIONS_MAGIC, .loop = loop_new(env_real())};
    o->options.spacing_ms = SPACING_MS;
}

static void end(struct operations *o)
{
    while (o->notices) {
        struct notice *n = o->notices;
        o->notices = n->next;
        notice_free(n);
    }
    loop_free(o->loop);
}

static void the_first_goes_at_once_and_the_next_after_the_spacing(void)
{
    struct operations o;
    begin(&o);
    struct notice *n = add(&o, OPERATIONS_OF_HEALTH, 1);
    CHECK_EQ_INT(digest_wait_ms(&o, n), 0);
    add_sent(&o, OPERATIONS_OF_DISABLED, 2, 1000); /* the operator's */
    CHECK_EQ_INT(digest_wait_ms(&o, n), 0);
    add_sent(&o, OPERATIONS_OF_CERTIFICATE, 3, 1000);
    CHECK_EQ_INT(digest_wait_ms(&o, n), SPACING_MS - 1000);
    n->tries = 1; /* it is repeated */
    CHECK_EQ_INT(digest_wait_ms(&o, n), 0);
    end(&o);
}

static void twenty_mails_in_an_hour_however_many_messages_are_in_them(void)
{
    struct operations o;
    begin(&o);
    struct notice *n = add(&o, OPERATIONS_OF_HEALTH, 1);
    for (uint32_t i = 0; i < 100; i++)
        add_sent(&o, OPERATIONS_OF_HEALTH, 2 + i, 10 * MINUTE_MS);
    CHECK_EQ_INT(digest_wait_ms(&o, n), 0);
    for (uint32_t i = 0; i < 18; i++)
        add_sent(&o, OPERATIONS_OF_HEALTH, 200 + i, (11 + i) * MINUTE_MS);
    add_sent(&o, OPERATIONS_OF_HEALTH, 300, MAILS_MS + 1);
    CHECK_EQ_INT(digest_wait_ms(&o, n), 0);
    add_sent(&o, OPERATIONS_OF_HEALTH, 301, 50 * MINUTE_MS);
    CHECK_EQ_INT(digest_wait_ms(&o, n), 10 * MINUTE_MS);
    end(&o);
}

int main(void)
{
    RUN(the_first_goes_at_once_and_the_next_after_the_spacing);
    RUN(twenty_mails_in_an_hour_however_many_messages_are_in_them);
    return check_done("digest");
}
