/* Reading back what payload.c has printed. */
#include "domain/payload_fields.h"

#include "domain/payload.h"

#include "check.h"

/* "name=value;" of each field. */
static void fields_are(const char *body, const char *wanted)
{
    struct buf room = {0}, all = {0};
    struct str rest = str_of(body);
    struct payload_field field;
    while (payload_next_field(&rest, &room, &field))
        buf_printf(&all, "%.*s=%.*s;", STR_ARG(field.name), STR_ARG(field.value));
    CHECK_CSTR(buf_c(&all), wanted);
    buf_free(&room);
    buf_free(&all);
}

static void texts_and_words_are_read(void)
{
    fields_are("{\"Sig\":\"00\",\"Reward\":72.00,\"OfferGoalId\":null,\"IsTest\":true}",
               "Sig=00;Reward=72.00;OfferGoalId=;IsTest=true;");
    fields_are("{\"a\":\"\",\"b\":\"null\"}", "a=;b=null;");
    fields_are("{\"a\":\"x\\\"\\\\\\n\\u001f\xc3\xbc\",\"b\":\"\\t\"}",
               "a=x\"\\\n\x1f\xc3\xbc;b=\t;");
}

static void whatever_is_printed_is_read(void)
{
    char every[128];
    for (int c = 1; c < 128; c++)
        every[c - 1] = (char)c;
    every[127] = '\0';
    struct event e = {
        .type = EVENT_OFFER_COMPLETED,
        .event_id = STR("r-1"),
        .panelist_id = str_of(every),
        .offer_title = STR("a,\"b\":1}"),
        .offer_id = 7,
        .reward_micros = 1500000,
    };
    struct buf body = {0}, room = {0};
    struct payload_field field;
    int found = 0;
    (void)payload_print(&body, &e, &(struct payload_options){.client_id = STR("c")});
    struct str rest = buf_str(&body);
    while (payload_next_field(&rest, &room, &field)) {
        if (str_is(field.name, "PanelistId"))
            CHECK(str_eq(field.value, e.panelist_id));
        else if (str_is(field.name, "OfferTitle"))
            CHECK(str_eq(field.value, e.offer_title));
        else
            continue;
        found++;
    }
    CHECK_EQ_INT(found, 2);
    CHECK(str_is(rest, "}"));
    buf_free(&body);
    buf_free(&room);
}

static void what_is_no_body_ends_it(void)
{
    fields_are("", "");
    fields_are("{}", "");
    fields_are("[1]", "");
    fields_are("{\"a\":\"b", "");
    fields_are("{\"a\":\"\\u0041\"}", ""); /* never printed so */
    fields_are("{\"a\":\"\\x\"}", "");
    fields_are("{\"a\\n\":1}", "");
    fields_are("{\"a\":1,2}", "a=1;");
    fields_are("{\"a\"", "");
}

int main(void)
{
    RUN(texts_and_words_are_read);
    RUN(whatever_is_printed_is_read);
    RUN(what_is_no_body_ends_it);
    return check_done("payload_fields");
}
