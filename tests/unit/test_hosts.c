/* Which servers a URI names, and in which order they are tried. */
#include "check.h"

#include "store/postgresql/hosts.h"

#include <stdlib.h>

static struct pg_hosts read_uri(const char *uri)
{
    struct pg_hosts h;
    pg_hosts_init(&h, uri);
    return h;
}

static void several_servers_are_told_apart(void)
{
    struct pg_hosts h = read_uri("postgresql://u@db1:5433,db2:5434/postbackd");
    REQUIRE(h.count == 2);
    CHECK_CSTR(h.hosts[0].name, "db1");
    CHECK_CSTR(h.hosts[1].name, "db2");
    CHECK_CSTR(h.hosts[1].port, "5434");
    CHECK(!h.hosts[0].address);
    pg_hosts_free(&h);
    h = read_uri("host=a,b hostaddr=10.0.0.1,10.0.0.2 port=7");
    REQUIRE(h.count == 2);
    CHECK_CSTR(h.hosts[1].address, "10.0.0.2");
    CHECK_CSTR(h.hosts[1].port, "7");
    pg_hosts_free(&h);
}

static void a_port_that_is_not_said_is_the_usual_one(void)
{
    CHECK(setenv("PGPORT", "6543", 1) == 0);
    struct pg_hosts h = read_uri("postgresql://db1,db2:7/postbackd");
    CHECK(unsetenv("PGPORT") == 0);
    REQUIRE(h.count == 2);
    CHECK_CSTR(h.hosts[0].port, "6543");
    CHECK_CSTR(h.hosts[1].port, "7");
    pg_hosts_free(&h);
}

static void what_is_not_several_servers_is_left_to_libpq(void)
{
    static const char *const uris[] = {
        "postgresql://db1/postbackd",
        "postgresql:///postbackd",
        "host=a,b port=1,2,3",
        "host=a,,b",
        "host=a,b hostaddr=10.0.0.1",
        "not a URI",
        "host=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };
    for (size_t i = 0; i < ARRAY_LEN(uris); i++) {
        struct pg_hosts h = read_uri(uris[i]);
        CHECK_EQ_INT(h.count, 0);
        CHECK(!pg_hosts_moved_from(&h, 0));
        pg_hosts_free(&h);
    }
}

static void the_last_primary_is_tried_first(void)
{
    struct pg_hosts h = read_uri("host=a,b,c");
    static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 0, 2}};
    static const int primaries[] = {-1, 2, 1};
    for (size_t i = 0; i < ARRAY_LEN(primaries); i++) {
        if (primaries[i] >= 0)
            pg_hosts_tried(&h, primaries[i], h.primary, true, 5, 5);
        for (int n = 0; n < 3; n++)
            CHECK_EQ_INT(pg_hosts_nth(&h, n), orders[i][n]);
    }
    int before = h.primary;
    pg_hosts_tried(&h, 0, before, true, 5, 5);
    pg_hosts_tried(&h, 2, before, true, 5, 5); /* which began before the other was found */
    CHECK(pg_hosts_moved_from(&h, 2));
    CHECK(!pg_hosts_moved_from(&h, 0));
    pg_hosts_free(&h);
}

static void a_server_that_does_not_answer_is_tried_by_one_at_a_time(void)
{
    struct pg_hosts h = read_uri("host=a,b");
    CHECK(pg_hosts_try(&h, 0, 1000) && pg_hosts_try(&h, 0, 1000));
    pg_hosts_tried(&h, 0, h.primary, false, 5000, 6000);
    CHECK(!pg_hosts_try(&h, 0, 6001));
    CHECK(pg_hosts_try(&h, 1, 6001));
    CHECK(pg_hosts_try(&h, 0, 9000));
    CHECK(!pg_hosts_try(&h, 0, 9000));                /* it is being tried */
    pg_hosts_tried(&h, 0, h.primary, false, 2, 9002); /* it refuses: it is there */
    CHECK(pg_hosts_try(&h, 0, 9003) && pg_hosts_try(&h, 0, 9003));
    pg_hosts_free(&h);
}

int main(void)
{
    RUN(several_servers_are_told_apart);
    RUN(a_port_that_is_not_said_is_the_usual_one);
    RUN(what_is_not_several_servers_is_left_to_libpq);
    RUN(the_last_primary_is_tried_first);
    RUN(a_server_that_does_not_answer_is_tried_by_one_at_a_time);
    return check_done("hosts");
}
