/* Packing keys of events, in the database that SCENARIO_POSTGRESQL names: each key is found, with
 * its own event, whatever is packed beside it, by how many, and whichever connection ends. */
#include "check.h"
#include "database.h"

#include "store/postgresql/pack_keys.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_schema.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 6
#define ROUND_KEYS 3000 /* more than a slice takes */
#define ACCOUNTS 2
#define MOST (2 * ROUNDS * ROUND_KEYS)

static struct pg pg;
static struct packed_key known[ACCOUNTS][MOST];
static size_t known_count[ACCOUNTS];
static uint64_t seed = 1;

static void begin(void)
{
    database_connect(&pg);
    database_empty(&pg);
    ASSERT(pg_migrate(&pg, &pg_schema_migration, PG_EXPAND));
    pg_exec(&pg, "INSERT INTO account VALUES(1,0,0,0),(2,0,0,0)");
    ASSERT(pg_sync(&pg) == PG_OK);
    known_count[0] = known_count[1] = 0;
}

static uint64_t next_random(void)
{
    return hash_number(seed += 0x9e3779b97f4a7c15u);
}

/* As intake adds them, of account `a` + 1; those from `first` on in the list of what is known. */
static void add_known(struct pg *to, size_t a, size_t first)
{
    struct pg_table t = {0};
    table_begin(&t, "iull");
    for (size_t i = first; i < known_count[a]; i++) {
        column_int(&t.columns[0], (int64_t)a + 1);
        column_key(&t.columns[1], known[a][i].key);
        column_int(&t.columns[2], (int64_t)known[a][i].content);
        column_int(&t.columns[3], (int64_t)known[a][i].event_no);
    }
    args_table(pg_args(to), &t);
    pg_query(to, "INSERT INTO event_key SELECT * FROM unnest($1,$2,$3,$4)");
    args_int(pg_args(to), PG_INT4, (int64_t)a + 1);
    args_int(&to->args, PG_INT8, (int64_t)known_count[a]);
    pg_query(to, "UPDATE account SET last_event_no=$2 WHERE account_no=$1");
    ASSERT(pg_sync(to) == PG_OK);
    table_free(&t);
}

static void know(size_t a, struct key128 key)
{
    ASSERT(known_count[a] < MOST);
    size_t i = known_count[a]++;
    known[a][i] = (struct packed_key){key, next_random(), i + 1};
}

static void add_random(struct pg *to, size_t a, size_t count)
{
    size_t first = known_count[a];
    for (size_t i = 0; i < count; i++)
        know(a, (struct key128){next_random(), next_random()});
    add_known(to, a, first);
}

static void pack_all(void)
{
    struct key_packer packer = {0};
    for (bool idle = false; !idle;)
        ASSERT(pack_keys(&pg, &packer, true, &idle) == PG_OK);
    key_packer_free(&packer);
}

static int ask(size_t a, uint64_t flip)
{
    struct pg_table t = {0};
    table_begin(&t, "liu");
    for (size_t i = 0; i < known_count[a]; i++) {
        struct key128 key = known[a][i].key;
        column_int(&t.columns[0], (int64_t)i);
        column_int(&t.columns[1], (int64_t)a + 1);
        column_key(&t.columns[2], (struct key128){key.hi ^ flip, key.lo});
    }
    args_table(pg_args(&pg), &t);
    int at = pg_query(&pg, "SELECT u.i,k.content,k.event_no FROM unnest($1,$2,$3) AS u(i,a,k)"
                           " CROSS JOIN LATERAL " FIND_KEY("u.a", "u.k") " k");
    table_free(&t);
    ASSERT(pg_sync(&pg) == PG_OK);
    return at;
}

static void check_known(void)
{
    for (size_t a = 0; a < ACCOUNTS; a++) {
        const PGresult *r = pg_result(&pg, ask(a, 0));
        int64_t right = 0, all = (int64_t)known_count[a];
        for (int i = 0; i < PQntuples(r); i++) {
            const struct packed_key *k = &known[a][pg_int(r, i, 0)];
            right +=
                (uint64_t)pg_int(r, i, 1) == k->content && (uint64_t)pg_int(r, i, 2) == k->event_no;
        }
        CHECK_EQ_INT(PQntuples(r), all);
        CHECK_EQ_INT(right, all);
        CHECK_EQ_INT(PQntuples(pg_result(&pg, ask(a, 1 << 9))), 0);
    }
}

#define UNPACKED "SELECT count(*) FROM event_key"
#define BYTES "SELECT sum(octet_length(keys))::bigint FROM key_page"
#define LEAST "SELECT min(octet_length(keys))/30 FROM key_page"

static void keys_are_found_after_each_pass(void)
{
    begin();
    pack_all();
    check_known();
    for (int round = 0; round < ROUNDS; round++) {
        add_random(&pg, 0, ROUND_KEYS);
        add_random(&pg, 1, round == 3 ? 1 : 200);
        check_known();
        pack_all();
        CHECK_EQ_INT(database_number(&pg, UNPACKED), 0);
        CHECK_EQ_INT(database_number(&pg, BYTES), (int64_t)(known_count[0] + known_count[1]) * 30);
        check_known();
    }
    CHECK(database_number(&pg, LEAST) >= KEY_PAGE_MOST / 2);
    pg_close(&pg);
}

/* The lowest and the highest there are, and neighbours of pages' first keys. */
static void keys_at_the_edges_are_found(void)
{
    begin();
    for (uint64_t i = 0; i < 150; i++)
        know(0, (struct key128){i % 2 ? UINT64_MAX : 0, i % 2 ? UINT64_MAX - i : i});
    add_known(&pg, 0, 0);
    pack_all();
    check_known();
    size_t before = known_count[0];
    for (uint64_t i = 150; i < 300; i++)
        know(0, (struct key128){i % 2 ? UINT64_MAX : 0, i % 2 ? UINT64_MAX - i : i});
    know(0, (struct key128){0, UINT64_MAX});
    know(0, (struct key128){1, 0});
    add_known(&pg, 0, before);
    check_known();
    pack_all();
    check_known();
    CHECK_EQ_INT(database_number(&pg, UNPACKED), 0);
    pg_close(&pg);
}

static void an_account_waits_until_it_has_enough(void)
{
    struct key_packer packer = {0};
    bool idle;
    begin();
    add_random(&pg, 0, PACK_LEAST - 1);
    CHECK(pack_keys(&pg, &packer, false, &idle) == PG_OK && idle);
    add_random(&pg, 0, 1);
    CHECK(pack_keys(&pg, &packer, false, &idle) == PG_OK && !idle);
    CHECK_EQ_INT(database_number(&pg, UNPACKED), 0);
    add_random(&pg, 0, ROUND_KEYS);
    while (pack_keys(&pg, &packer, false, &idle) == PG_OK && !idle)
        ;
    CHECK_EQ_INT(database_number(&pg, UNPACKED), 0);
    add_random(&pg, 0, (ROUND_KEYS + PACK_LEAST) / PACK_SHARE - 1);
    CHECK(pack_keys(&pg, &packer, false, &idle) == PG_OK && idle);
    check_known();
    key_packer_free(&packer);
    pg_close(&pg);
}

/* --- several at once -------------------------------------------------------------------------- */

static atomic_bool ended;

static void *pack_until_ended(void *none)
{
    struct pg own;
    struct key_packer packer = {0};
    database_connect(&own);
    while (!atomic_load(&ended)) {
        bool idle;
        if (!pg_connect(&own))
            continue;
        enum pg_fate fate = pack_keys(&own, &packer, true, &idle);
        CHECK(fate != PG_REFUSED);
        if (fate == PG_REFUSED)
            printf("    %s\n", buf_c(&own.why));
    }
    key_packer_free(&packer);
    pg_close(&own);
    return none;
}

struct one_pass {
    struct key128 from;
    pthread_t thread;
};

static void *pack_from(void *one_pass)
{
    const struct one_pass *pass = one_pass;
    struct key_packer packer = {.account_no = 1, .under_way = true, .from = pass->from};
    struct pg own;
    bool idle;
    database_connect(&own);
    CHECK(pack_keys(&own, &packer, true, &idle) == PG_OK);
    key_packer_free(&packer);
    pg_close(&own);
    return NULL;
}

#define HELD_UP "SELECT count(*) FROM pg_locks WHERE NOT granted"

/* Two nodes pack different keys that fall into the same page, at the same time: the second one must
 * see what the first has made of it. Whoever does not ask for the account's row before is held up
 * behind it with the page in hand. */
static void two_pack_into_one_page(void)
{
    struct pg holder;
    struct one_pass passes[2] = {{.from = {0, 0}}, {.from = {31, 0}}};
    begin();
    for (uint64_t i = 0; i < 60; i += i == 29 ? 3 : 1)
        know(0, (struct key128){i, i});
    add_known(&pg, 0, 0);
    pack_all();
    know(0, (struct key128){30, 0});
    know(0, (struct key128){31, 1});
    database_connect(&holder);
    for (size_t i = 0; i < 2; i++) {
        size_t first = known_count[0] - 2 + i, all = known_count[0];
        known_count[0] = first + 1;
        add_known(&pg, 0, first);
        known_count[0] = all;
        if (i == 0) {
            pg_begin(&holder, false);
            pg_exec(&holder, "SELECT 1 FROM key_pack WHERE account_no=1 FOR UPDATE");
            ASSERT(pg_sync(&holder) == PG_OK);
        }
        ASSERT(pthread_create(&passes[i].thread, NULL, pack_from, &passes[i]) == 0);
        while (database_number(&pg, HELD_UP) < (int64_t)i + 1)
            ;
    }
    pg_rollback(&holder);
    for (size_t i = 0; i < 2; i++)
        ASSERT(pthread_join(passes[i].thread, NULL) == 0);
    check_known();
    CHECK_EQ_INT(database_number(&pg, UNPACKED), 0);
    pg_close(&holder);
    pg_close(&pg);
}

/* Nodes that both believe to be the first, intake between, and connections that end anywhere. */
static void two_pack_at_once_and_are_cut(void)
{
    pthread_t threads[2];
    begin();
    atomic_store(&ended, false);
    for (int i = 0; i < 2; i++)
        ASSERT(pthread_create(&threads[i], NULL, pack_until_ended, NULL) == 0);
    for (int round = 0; round < 24; round++) {
        add_random(&pg, (size_t)round % 2, 400);
        check_known();
        database_number(&pg, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                             " WHERE pid<>pg_backend_pid() AND datname=current_database()"
                             " AND query LIKE '%key_p%' AND random()<0.2");
    }
    atomic_store(&ended, true);
    for (int i = 0; i < 2; i++)
        ASSERT(pthread_join(threads[i], NULL) == 0);
    pack_all();
    check_known();
    CHECK_EQ_INT(database_number(&pg, BYTES), (int64_t)(known_count[0] + known_count[1]) * 30);
    pg_close(&pg);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void a_damaged_page_stays_and_others_are_packed(void)
{
    struct key_packer packer = {0};
    bool idle = false;
    begin();
    add_random(&pg, 0, 100);
    pack_all();
    database_number(
        &pg,
        "WITH w AS (UPDATE key_page SET keys=substr(keys,2) RETURNING 1) SELECT count(*) FROM w");
    int64_t bytes = database_number(&pg, BYTES);
    add_random(&pg, 0, 100);
    add_random(&pg, 1, 100);
    CHECK(pack_keys(&pg, &packer, true, &idle) == PG_REFUSED);
    CHECK(strstr(buf_c(&pg.why), "account 1 ") != NULL);
    CHECK_EQ_INT(database_number(&pg, BYTES), bytes);
    CHECK(pack_keys(&pg, &packer, true, &idle) == PG_OK && !idle);
    CHECK_EQ_INT(database_number(&pg, UNPACKED), 100);
    CHECK_EQ_INT(PQntuples(pg_result(&pg, ask(1, 0))), 100);
    CHECK(pack_keys(&pg, &packer, true, &idle) == PG_REFUSED);
    key_packer_free(&packer);
    pg_close(&pg);
}

/* As a restore of single tables could leave them. */
static void a_key_in_both_tables_stays(void)
{
    struct key_packer packer = {0};
    bool idle;
    begin();
    add_random(&pg, 0, 100);
    pack_all();
    add_known(&pg, 0, 99);
    know(0, (struct key128){1, 1});
    add_known(&pg, 0, 100);
    CHECK(pack_keys(&pg, &packer, true, &idle) == PG_REFUSED);
    CHECK_EQ_INT(database_number(&pg, UNPACKED), 2);
    CHECK_EQ_INT(database_number(&pg, BYTES), 3000);
    key_packer_free(&packer);
    pg_close(&pg);
}

int main(void)
{
    RUN(keys_are_found_after_each_pass);
    RUN(keys_at_the_edges_are_found);
    RUN(an_account_waits_until_it_has_enough);
    RUN(two_pack_into_one_page);
    RUN(two_pack_at_once_and_are_cut);
    RUN(a_damaged_page_stays_and_others_are_packed);
    RUN(a_key_in_both_tables_stays);
    return check_done("postgresql_keys");
}
