/*
 * The directory: what is put in is found by id, number and key, replaced entries live as long as
 * somebody holds them, lists are newest first, and readers and a writer do not disturb each other.
 */
#include "check.h"

#include "accounts/directory.h"
#include "accounts/entry.h"

#include <pthread.h>
#include <stdio.h>

static struct client *make_client(uint32_t no, uint32_t account_no, uint64_t version)
{
    char id[32];
    int n = snprintf(id, sizeof id, "c_%u", no);
    struct client from = {.client_no = no,
                          .app_no = 1 + no % 2,
                          .account_no = account_no,
                          .version = version,
                          .id = {id, (size_t)n},
                          .name = STR("name")};
    return client_pack(&from);
}

static void finds_by_id_and_number(void)
{
    struct directory *d = directory_new();
    CHECK(directory_client(d, STR("c_1")) == NULL);
    CHECK_EQ_UINT(directory_next_no(d, ACCOUNT_CLIENT), 1);
    for (uint32_t no = 1; no <= 1000; no++)
        directory_put_client(d, make_client(no, 1, 1));
    CHECK_EQ_UINT(directory_next_no(d, ACCOUNT_CLIENT), 1001);
    int found = 0;
    for (uint32_t no = 1; no <= 1000; no++) {
        char id[32];
        snprintf(id, sizeof id, "c_%u", no);
        struct client *a = directory_client(d, str_of(id));
        struct client *b = directory_client_by_no(d, no);
        found += a && a == b && a->client_no == no;
        client_unref(a);
        client_unref(b);
    }
    CHECK_EQ_INT(found, 1000);
    CHECK(directory_client(d, STR("c_1001")) == NULL);
    CHECK(directory_client(d, STR("c_")) == NULL);
    CHECK(directory_client(d, STR_NONE) == NULL);
    CHECK(directory_client_by_no(d, 0) == NULL);
    CHECK(directory_client_by_no(d, 1001) == NULL);
    CHECK(directory_app(d, STR("c_1")) == NULL);
    directory_free(d);
}

static void replaced_entries_live_on(void)
{
    struct directory *d = directory_new();
    directory_put_client(d, make_client(7, 1, 1));
    struct client *old = directory_client(d, STR("c_7"));
    directory_put_client(d, make_client(7, 1, 2));
    struct client *now = directory_client(d, STR("c_7"));
    REQUIRE(old && now && old != now);
    CHECK_EQ_UINT(old->version, 1);
    CHECK_EQ_UINT(now->version, 2);
    CHECK_STR(old->id, "c_7");
    client_unref(now);
    directory_free(d);
    CHECK_STR(old->name, "name");
    client_unref(old);
}

static void lists_newest_first(void)
{
    struct directory *d = directory_new();
    struct client *page[4];
    for (uint32_t no = 1; no <= 10; no++)
        directory_put_client(d, make_client(no, no <= 5 ? 1 : 2, 1));
    size_t n = directory_list_clients(d, 1, 0, 0, page, 4);
    REQUIRE(n == 4);
    CHECK_EQ_UINT(page[0]->client_no, 5);
    CHECK_EQ_UINT(page[3]->client_no, 2);
    uint32_t before = page[3]->client_no;
    for (size_t i = 0; i < n; i++)
        client_unref(page[i]);
    n = directory_list_clients(d, 1, 0, before, page, 4);
    REQUIRE(n == 1);
    CHECK_EQ_UINT(page[0]->client_no, 1);
    client_unref(page[0]);
    n = directory_list_clients(d, 2, 1, 0, page, 4); /* of app 1: even numbers */
    REQUIRE(n == 3);
    CHECK_EQ_UINT(page[0]->client_no, 10);
    CHECK_EQ_UINT(page[2]->client_no, 6);
    for (size_t i = 0; i < n; i++)
        client_unref(page[i]);
    CHECK_EQ_UINT(directory_list_clients(d, 3, 0, 0, page, 4), 0);
    directory_free(d);
}

/* A limit is judged by it. */
static void counts_by_account(void)
{
    struct directory *d = directory_new();
    for (uint32_t no = 1; no <= 10; no++)
        directory_put_client(d, make_client(no, no <= 6 ? 1 : 70, 1));
    directory_put_client(d, make_client(3, 1, 2)); /* replaced */
    CHECK_EQ_UINT(directory_count(d, ACCOUNT_CLIENT, 1), 6);
    CHECK_EQ_UINT(directory_count(d, ACCOUNT_CLIENT, 70), 4);
    CHECK_EQ_UINT(directory_count(d, ACCOUNT_CLIENT, 2), 0);
    CHECK_EQ_UINT(directory_count(d, ACCOUNT_CLIENT, 9999), 0);
    CHECK_EQ_UINT(directory_count(d, ACCOUNT_APP, 1), 0);
    directory_free(d);
}

static void operator_key_is_known_by_its_text(void)
{
    struct directory *d = directory_new();
    CHECK(directory_key_by_text(d, STR("secret")) == NULL);
    directory_set_operator_key(d, STR("secret"));
    struct api_key *k = directory_key_by_text(d, STR("secret"));
    REQUIRE(k);
    CHECK_EQ_UINT(k->scopes, SCOPES_ALL);
    CHECK_EQ_UINT(k->account_no, 0);
    api_key_unref(k);
    CHECK(directory_key_by_text(d, STR("secre")) == NULL);
    CHECK(directory_key_by_text(d, STR("")) == NULL);
    CHECK(directory_key_by_text(d, STR_NONE) == NULL);
    CHECK(directory_key(d, STR("operator")) == NULL);
    directory_set_operator_key(d, STR("other"));
    CHECK(directory_key_by_text(d, STR("secret")) == NULL);
    directory_free(d);
}

static atomic_bool stop;
static atomic_int bad_reads;

static void *read_without_end(void *context)
{
    struct directory *d = context;
    while (!atomic_load(&stop)) {
        struct client *c = directory_client(d, STR("c_1"));
        if (!c || c->magic != CLIENT_MAGIC || !str_is(c->name, "name"))
            atomic_fetch_add(&bad_reads, 1);
        client_unref(c);
        directory_read_lock(d);
        const struct client *locked = directory_client_locked(d, STR("c_1"));
        if (!locked || !str_is(locked->id, "c_1"))
            atomic_fetch_add(&bad_reads, 1);
        directory_unlock(d);
    }
    return NULL;
}

static void readers_and_a_writer(void)
{
    struct directory *d = directory_new();
    pthread_t readers[2];
    directory_put_client(d, make_client(1, 1, 1));
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&readers[i], NULL, read_without_end, d) == 0);
    for (uint64_t version = 2; version < 5000; version++)
        directory_put_client(d, make_client(1, 1, version));
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    CHECK_EQ_INT(atomic_load(&bad_reads), 0);
    struct client *c = directory_client(d, STR("c_1"));
    CHECK_EQ_UINT(c->version, 4999);
    client_unref(c);
    directory_free(d);
}

int main(void)
{
    RUN(finds_by_id_and_number);
    RUN(replaced_entries_live_on);
    RUN(lists_newest_first);
    RUN(counts_by_account);
    RUN(operator_key_is_known_by_its_text);
    RUN(readers_and_a_writer);
    return check_done("directory");
}
