/* Which addresses are connected to. In a network of its own with nothing but loopback (as
 * `unshare -n` makes one), where a private address is given to the loopback device: so a receiver
 * really listens there, and it can be seen whether anybody came. */
#include "check.h"

#include "name_server.h"
#include "post.h"

#include <net/if.h>
#include <net/route.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define PRIVATE "10.1.2.3"
#define PUBLIC "93.184.215.14" /* only inside this network of our own */

static const struct name_record records[] = {
    {.name = "private.test", .addresses = {PRIVATE}, .ttl_s = 300},
    {.name = "loopback.test", .addresses = {"127.0.0.1", "::1"}, .ttl_s = 300},
    {.name = "mixed.test", .addresses = {PRIVATE, PUBLIC}, .ttl_s = 300},
    {.name = "public.test", .addresses = {PUBLIC}, .ttl_s = 300},
    {.name = "mapped.test", .addresses = {"::ffff:10.1.2.3"}, .ttl_s = 300},
    {.name = "six.test", .addresses = {"fd00::1"}, .ttl_s = 300},
    {.name = "half.test", .addresses = {"8.8.8.8", "127.0.0.1"}, .ttl_s = 300},
    {.name = "empty.test"},
    {.name = "silent.test", .rcode = -1},
    {0},
};

static struct name_server server;

static bool give_address(const char *device, const char *address)
{
    struct ifreq request = {0};
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    inet_pton(AF_INET, address, &at.sin_addr);
    memcpy(&request.ifr_addr, &at, sizeof at);
    bool good = ioctl(fd, SIOCSIFADDR, &request) == 0;
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    good = good && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return good;
}

static bool own_network(void)
{
    return (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
           give_address("lo", "127.0.0.1") && give_address("lo:1", PRIVATE) &&
           give_address("lo:2", PUBLIC);
}

/* One post; the receiver at PRIVATE must not be come to. */
static void refused(const char *url)
{
    struct receiver r = {.text = OK_EMPTY};
    receiver_start_at(&r, PRIVATE);
    post_to(url, r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    CHECK(post_says("not a public address"));
    CHECK_EQ_INT(r.accepted, 0);
    receiver_stop(&r);
}

static void non_public_addresses(void)
{
    post_open(NULL, NULL, server.where);
    refused("http://" PRIVATE ":%u/");
    refused("http://127.0.0.1:%u/");
    refused("http://[::1]:%u/");
    refused("http://[::ffff:10.1.2.3]:%u/");
    refused("http://169.254.169.254/");
    refused("http://100.64.0.1/");
    refused("http://0.0.0.0:%u/");
    refused("http://[fd00::1]/");
    refused("http://[64:ff9b::a01:203]/");
    refused("https://" PRIVATE ":%u/");
    post_close();
}

static void names_of_non_public_addresses(void)
{
    post_open(NULL, NULL, server.where);
    refused("http://private.test:%u/");
    CHECK(post_says("The name private.test resolves to " PRIVATE));
    refused("http://loopback.test:%u/");
    refused("http://localhost:%u/");
    refused("http://mapped.test:%u/");
    refused("http://six.test:%u/");
    post_close();
}

static void allowed_ones(void)
{
    struct receiver r = {.text = OK_EMPTY};
    post_open("10.1.0.0/16", NULL, server.where);
    receiver_start_at(&r, PRIVATE);
    post_to("http://" PRIVATE ":%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_to("http://private.test:%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_EQ_INT(r.requests, 2);
    receiver_stop(&r);
    refused("http://127.0.0.1:%u/");
    post_close();
}

/* PUBLIC is the machine's own address here: whoever may be sent to it must be allowed it. */
static void own_addresses(void)
{
    struct receiver r = {.text = OK_EMPTY};
    post_open(NULL, NULL, server.where);
    receiver_start_at(&r, PUBLIC);
    post_to("http://" PUBLIC ":%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    CHECK(post_says(PUBLIC " is an address of the sending machine itself"));
    post_to("http://public.test:%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    post_to("http://[::ffff:" PUBLIC "]:%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    CHECK_EQ_INT(r.accepted, 0);
    receiver_stop(&r);
    post_close();
}

static void denied_ones(void)
{
    struct receiver r = {.text = OK_EMPTY};
    struct cidr denied;
    struct sender_options options = post_options("0.0.0.0/0");
    REQUIRE(cidr_parse(STR("93.184.215.0/24"), &denied));
    options.rules.denied = &denied;
    options.rules.denied_count = 1;
    options.dns_server = server.where;
    post_open_with(&options);
    receiver_start_at(&r, PUBLIC);
    post_to("http://public.test:%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    CHECK(post_says("the operator of this service does not allow"));
    post_to("http://[64:ff9b::" PUBLIC "]:%u/", r.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DESTINATION_REFUSED);
    CHECK(post_says("the operator"));
    CHECK_EQ_INT(r.accepted, 0);
    receiver_stop(&r);
    post_close();
}

static void public_ones_of_several(void)
{
    struct receiver there = {.text = OK_EMPTY}, here = {.text = OK_EMPTY};
    post_open(PUBLIC, NULL, server.where);
    receiver_start_at(&there, PUBLIC);
    receiver_start_at(&here, PRIVATE);
    post_to("http://public.test:%u/", there.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    post_to("http://mixed.test:%u/", there.port, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_OK);
    CHECK_EQ_INT(there.requests, 2);
    CHECK_EQ_INT(here.accepted, 0);
    receiver_stop(&there);
    receiver_stop(&here);
    post_close();
}

static void unreachable(void)
{
    post_open(NULL, NULL, server.where);
    post_to("http://8.8.8.8/", 0, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK(post_says("no route"));
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_ROUTE); /* there is none at all */
    post_close();
}

/* What the network answers for one address counts, not what this machine lacks for another. */
static void one_address_answers(void)
{
    post_open("127.0.0.0/8", NULL, server.where);
    post_to("http://half.test:1/", 0, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK(post_says("nothing listens"));
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_NONE);
    post_close();
}

/* A default route for IPv4: a receiver that only has IPv6 is at fault itself. Comes last, as the
 * route stays. */
static void with_a_route_the_receiver_is_at_fault(void)
{
    struct rtentry route = {.rt_flags = RTF_UP, .rt_dev = (char[]){"lo"}};
    route.rt_dst.sa_family = route.rt_gateway.sa_family = route.rt_genmask.sa_family = AF_INET;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ASSERT(ioctl(fd, SIOCADDRT, &route) == 0);
    close(fd);
    post_open(NULL, NULL, server.where);
    post_to("http://[2606:4700::1]/", 0, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_REFUSED);
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_NONE);
    post_close();
}

static void without_a_descriptor(void)
{
    struct rlimit limit;
    post_open(NULL, NULL, server.where);
    ASSERT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    ASSERT(setrlimit(RLIMIT_NOFILE, &none) == 0);
    post_to("http://8.8.8.8/", 0, 3000);
    ASSERT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_EQ_INT(post.x.local_fault, LOCAL_FAULT_DESCRIPTORS);
    post_close();
}

static void names_that_fail(void)
{
    post_open(NULL, NULL, server.where);
    post_to("http://missing.test/", 0, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DNS);
    CHECK(post_says("missing.test does not exist"));
    post_to("http://empty.test/", 0, 3000);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DNS);
    CHECK(post_says("no address"));
    post_to("http://silent.test/", 0, 300);
    CHECK_EQ_INT(post.x.class, ATTEMPT_DNS);
    CHECK(post_says("within 0.3 s"));
    post_close();
}

int main(void)
{
    if (!own_network()) {
        printf("send_refused: 0 passed, 0 failed, 1 skipped\n");
        return 77; /* no right to make a network */
    }
    name_server_start(&server, records);
    RUN(non_public_addresses);
    RUN(names_of_non_public_addresses);
    RUN(allowed_ones);
    RUN(own_addresses);
    RUN(denied_ones);
    RUN(public_ones_of_several);
    RUN(unreachable);
    RUN(one_address_answers);
    RUN(without_a_descriptor);
    RUN(names_that_fail);
    RUN(with_a_route_the_receiver_is_at_fault);
    name_server_stop(&server);
    return check_done("send_refused");
}
