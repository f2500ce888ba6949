/* Names to addresses, against a name server in this process. */
#include "check.h"

#include "name_server.h"
#include "net/dns.h"

static const struct name_record records[] = {
    {.name = "good.test", .addresses = {"192.0.2.1", "192.0.2.2", "2001:db8::1"}, .ttl_s = 300},
    {.name = "brief.test", .addresses = {"192.0.2.3"}, .ttl_s = 0},
    {.name = "empty.test"},
    {.name = "failing.test", .rcode = 2},
    {.name = "silent.test", .rcode = -1},
    {.name = "quiet.test", .rcode = -1},
    {.name = "late-1.test", .rcode = -1},
    {.name = "late-2.test", .rcode = -1},
    {.name = "late-3.test", .rcode = -1},
    {.name = "late-4.test", .rcode = -1},
    {.name = "v6.test", .addresses = {"2001:db8::2"}},
    {0},
};

static struct name_server server;
static struct loop *loop;
static struct dns *dns;
static int waiting;

static void done(struct dns_query *query)
{
    (void)query;
    if (--waiting == 0)
        loop_stop(loop);
}

static bool ask(struct dns_query *query, const char *name)
{
    *query = (struct dns_query){.done = done};
    if (dns_look_up(dns, query, str_of(name)))
        return true;
    waiting++;
    return false;
}

static void look_up(struct dns_query *query, const char *name)
{
    if (!ask(query, name))
        loop_run(loop);
}

static void addresses_come_and_are_kept(void)
{
    struct dns_query query;
    int v4 = 0, v6 = 0;
    CHECK(!ask(&query, "good.test"));
    loop_run(loop);
    CHECK_EQ_INT(query.status, DNS_OK);
    CHECK_EQ_UINT(query.address_count, 3);
    for (size_t i = 0; i < query.address_count; i++) {
        static const uint8_t one[] = {192, 0, 2};
        v4 += query.addresses[i].family == AF_INET && memcmp(query.addresses[i].bytes, one, 3) == 0;
        v6 += query.addresses[i].family == AF_INET6 && query.addresses[i].bytes[15] == 1;
    }
    CHECK_EQ_INT(v4, 2);
    CHECK_EQ_INT(v6, 1);
    int asked = server.questions;
    CHECK(ask(&query, "good.test"));
    CHECK_EQ_UINT(query.address_count, 3);
    CHECK_EQ_INT(server.questions, asked);
}

static void one_look_up_for_many_askers(void)
{
    struct dns_query queries[50];
    int64_t before = dns_queries(dns);
    int asked = server.questions;
    for (size_t i = 0; i < 50; i++)
        CHECK(!ask(&queries[i], "brief.test"));
    dns_cancel(dns, &queries[7]);
    waiting--;
    loop_run(loop);
    for (size_t i = 0; i < 50; i++)
        CHECK_EQ_UINT(queries[i].address_count, i == 7 ? 0 : 1);
    CHECK_EQ_INT(dns_queries(dns), before + 1);
    CHECK_EQ_INT(server.questions, asked + 1);
}

static void nap_over(struct timer *timer)
{
    (void)timer;
    loop_stop(loop);
}

static void no_time_to_live_is_a_second(void)
{
    struct dns_query query;
    struct timer timer = {.fire = nap_over};
    look_up(&query, "brief.test");
    CHECK(ask(&query, "brief.test"));
    loop_timer_set(loop, &timer, loop_mono_ms(loop) + 1050);
    loop_run(loop);
    CHECK(!ask(&query, "brief.test"));
    loop_run(loop);
    CHECK_EQ_INT(query.status, DNS_OK);
}

static void failures_are_told_apart(void)
{
    struct dns_query query;
    look_up(&query, "missing.test");
    CHECK_EQ_INT(query.status, DNS_NO_SUCH_NAME);
    int asked = server.questions;
    CHECK(ask(&query, "missing.test")); /* failures are kept, too */
    CHECK_EQ_INT(query.status, DNS_NO_SUCH_NAME);
    CHECK_EQ_INT(server.questions, asked);
    look_up(&query, "empty.test");
    CHECK_EQ_INT(query.status, DNS_NO_ADDRESS);
    asked = server.questions;
    look_up(&query, "failing.test");
    CHECK(server.questions - asked <= 2); /* the tries of c-ares: an answer is no early end */
    /* Which of them depends on the resolver's version: it has asked more than once. */
    CHECK(query.status == DNS_SERVER_FAILED || query.status == DNS_NO_ANSWER);
    CHECK_EQ_UINT(query.address_count, 0);
}

static void hosts_file_is_honoured(void)
{
    struct dns_query query;
    int asked = server.questions;
    look_up(&query, "localhost");
    CHECK_EQ_INT(query.status, DNS_OK);
    CHECK(query.address_count > 0);
    CHECK_EQ_INT(server.questions, asked);
}

static struct dns_query second;

static void asks_again(struct dns_query *query)
{
    (void)query;
    /* Askers may look up, and cancel others, from their callback. */
    dns_cancel(dns, &second);
    waiting--;
    CHECK(ask(&second, "good.test"));
    loop_stop(loop);
}

static void askers_may_do_what_they_like(void)
{
    struct dns_query first = {.done = asks_again};
    CHECK(!dns_look_up(dns, &first, STR("other.good.test")));
    CHECK(!ask(&second, "other.good.test"));
    loop_run(loop);
    CHECK_EQ_INT(first.status, DNS_NO_SUCH_NAME);
    CHECK_EQ_INT(second.status, DNS_OK);
}

static void names_beyond_the_bound_are_forgotten(void)
{
    struct dns_query query;
    char name[32];
    for (int i = 0; i < LIMIT_DNS_NAMES + 10; i++) {
        snprintf(name, sizeof name, "n%d.test", i);
        look_up(&query, name);
    }
    CHECK(ask(&query, name));
    CHECK(!ask(&query, "good.test")); /* was known; five minutes are not over */
    loop_run(loop);
    CHECK_EQ_INT(query.status, DNS_OK);
}

static void silence_is_told_from_a_name_without_answer(void)
{
    struct dns_query query;
    const char *why = NULL;
    look_up(&query, "quiet.test"); /* the server answers the check */
    CHECK_EQ_INT(query.status, DNS_NO_ANSWER);
    struct dns *answering = dns;
    dns = dns_new(loop, "127.0.0.1:1", &why); /* nothing listens there */
    look_up(&query, "good.test");
    CHECK_EQ_INT(query.status, DNS_SILENT);
    dns_free(dns);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    char where[32];
    int deaf = socket(AF_INET, SOCK_DGRAM, 0);
    ASSERT(bind(deaf, (struct sockaddr *)&at, n) == 0);
    ASSERT(getsockname(deaf, (struct sockaddr *)&at, &n) == 0);
    snprintf(where, sizeof where, "127.0.0.1:%u", ntohs(at.sin_port));
    dns = dns_new(loop, where, &why);
    look_up(&query, "good.test");
    CHECK_EQ_INT(query.status, DNS_SILENT);
    dns_free(dns);
    close(deaf);
    dns = answering;
}

static const struct name_record records_back[] = {
    {.name = "late-1.test", .addresses = {"192.0.2.9"}},
    {.name = "late-2.test", .addresses = {"192.0.2.9"}},
    {.name = "late-3.test", .addresses = {"192.0.2.9"}},
    {.name = "late-4.test", .addresses = {"192.0.2.9"}},
    {0},
};

static void heard(struct dns_query *query)
{
    (void)query;
    loop_stop(loop);
}

static void begin_again(struct timer *timer)
{
    (void)timer;
    name_server_start(&server, records_back);
}

/* Its port is closed when the second try comes, which ends the look-up for c-ares. There was an
 * answer to another name meanwhile, so the name server does not count as silent. */
static bool comes_over_a_restart(const char *name)
{
    struct dns_query query, other = {.done = heard};
    struct timer back = {.fire = begin_again};
    CHECK(!ask(&query, name));
    if (!dns_look_up(dns, &other, STR("v6.test")))
        loop_run(loop);
    CHECK_EQ_INT(other.status, DNS_OK);
    name_server_stop(&server);
    loop_timer_set(loop, &back, loop_mono_ms(loop) + 1200);
    loop_run(loop);
    name_server_stop(&server);
    name_server_start(&server, records);
    return query.status == DNS_OK && query.address_count == 1;
}

/* The kernel reports a closed port once for each socket. If the question for the other family is
 * told, this one waits for its time-out, as without a restart. */
static void a_name_server_may_restart(void)
{
    static const char *const names[] = {"late-1.test", "late-2.test", "late-3.test", "late-4.test"};
    bool comes = false;
    for (size_t i = 0; i < ARRAY_LEN(names) && !comes; i++)
        comes = comes_over_a_restart(names[i]);
    CHECK(comes);
}

static void silence_outlives_its_asker(void)
{
    struct dns_query query;
    CHECK(!ask(&query, "silent.test"));
    dns_cancel(dns, &query);
    waiting--;
    /* dns_free comes while c-ares is still asking. */
}

static void bad_server_is_refused(void)
{
    const char *why = NULL;
    CHECK(dns_new(loop, "not an address", &why) == NULL);
    CHECK(why && strstr(why, "ADDRESS:PORT") != NULL);
}

int main(void)
{
    const char *why = NULL;
    name_server_start(&server, records);
    loop = loop_new(env_real());
    dns = dns_new(loop, server.where, &why);
    if (!dns)
        return 1;
    RUN(addresses_come_and_are_kept);
    RUN(one_look_up_for_many_askers);
    RUN(no_time_to_live_is_a_second);
    RUN(failures_are_told_apart);
    RUN(hosts_file_is_honoured);
    RUN(askers_may_do_what_they_like);
    RUN(names_beyond_the_bound_are_forgotten);
    RUN(silence_is_told_from_a_name_without_answer);
    RUN(a_name_server_may_restart);
    RUN(silence_outlives_its_asker);
    RUN(bad_server_is_refused);
    dns_free(dns);
    loop_free(loop);
    name_server_stop(&server);
    return check_done("dns");
}
