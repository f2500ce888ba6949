/* How long an Idempotency-Key is kept, and how many are. */
#include "services/idempotency_records.h"

#include "base/limits.h"

#include "check.h"

#include <stdio.h>

struct world {
    struct env env;
    int64_t now_ms;
    struct idempotency *all;
    struct arena arena;
    int kept; /* records, as a store would have them */
};

static int64_t now_ms(struct env *env)
{
    return CONTAINER_OF(env, struct world, env)->now_ms;
}

static void open_world(struct world *w)
{
    *w = (struct world){.env.wall_ms = now_ms, .now_ms = 1763726400000};
    w->all = idempotency_new(&w->env);
}

static void close_world(struct world *w)
{
    idempotency_free(w->all);
    arena_free(&w->arena);
}

static struct idempotency_key key_of(unsigned owner, unsigned number, unsigned request)
{
    struct idempotency_key key = {0};
    snprintf(key.id, sizeof key.id, "%032x%032x", owner, number);
    snprintf(key.request, sizeof key.request, "%032x", request);
    return key;
}

/* Makes app-NUMBER and keeps it with its record. */
static void make(struct world *w, struct idempotency_key key, unsigned number)
{
    char id[32];
    struct object_part parts[IDEMPOTENCY_PARTS];
    snprintf(id, sizeof id, "app-%u", number);
    struct object_part made = {OBJECT_APP, arena_str(&w->arena, str_of(id)), STR("{}")};
    size_t count = idempotency_parts(w->all, &key, &made, &w->arena, parts);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(parts[i].kind == OBJECT_IDEMPOTENCY_KEY);
        w->kept += parts[i].document.p ? 1 : -1;
        REQUIRE(idempotency_refresh(w->all, parts[i].id, parts[i].document));
    }
}

static bool is_made(struct world *w, unsigned owner, unsigned number)
{
    struct idempotency_key key = key_of(owner, number, 0);
    CHECK(idempotency_find(w->all, &key));
    return key.made[0] != '\0';
}

static void a_key_is_found_again(void)
{
    struct world w;
    open_world(&w);
    struct idempotency_key key = key_of(1, 7, 0), other = key_of(1, 7, 1);
    CHECK(!is_made(&w, 1, 7));
    key.matched = 12;
    make(&w, key, 7);
    key.matched = 0;
    CHECK(idempotency_find(w.all, &key) && strcmp(key.made, "app-7") == 0);
    CHECK(key.kind == OBJECT_APP && key.matched == 12);
    CHECK(!idempotency_find(w.all, &other) && !other.made[0]);
    CHECK(!is_made(&w, 2, 7) && !is_made(&w, 1, 8));
    close_world(&w);
}

static void a_key_is_free_again_after_a_day(void)
{
    struct world w;
    open_world(&w);
    make(&w, key_of(1, 7, 0), 7);
    w.now_ms += IDEMPOTENCY_KEPT_MS - 1;
    CHECK(is_made(&w, 1, 7));
    w.now_ms++;
    CHECK(!is_made(&w, 1, 7));
    struct idempotency_key other = key_of(1, 7, 1);
    CHECK(idempotency_find(w.all, &other));
    make(&w, other, 8);
    CHECK(idempotency_find(w.all, &other) && strcmp(other.made, "app-8") == 0);
    close_world(&w);
}

static void of_too_many_the_oldest_goes_and_nobody_elses(void)
{
    struct world w;
    open_world(&w);
    make(&w, key_of(2, 0, 0), 0);
    for (unsigned i = 0; i <= LIMIT_IDEMPOTENCY_KEYS; i++) {
        w.now_ms++;
        make(&w, key_of(1, i, 0), i);
    }
    CHECK(!is_made(&w, 1, 0) && is_made(&w, 1, 1) && is_made(&w, 1, LIMIT_IDEMPOTENCY_KEYS));
    CHECK(is_made(&w, 2, 0));
    CHECK_EQ_INT(w.kept, LIMIT_IDEMPOTENCY_KEYS + 1);
    close_world(&w);
}

/* A partner that makes a key, uses it, revokes it and makes the next one has no more than others.
 */
static void of_an_account_the_oldest_goes_whatever_key_it_is_of(void)
{
    struct world w;
    open_world(&w);
    struct idempotency_key neighbour = key_of(9, 0, 0), key;
    neighbour.account_no = 2;
    make(&w, neighbour, 0);
    for (unsigned i = 0; i <= LIMIT_ACCOUNT_IDEMPOTENCY_KEYS; i++) {
        w.now_ms++;
        key = key_of(100 + i, 0, 0);
        key.account_no = 1;
        make(&w, key, i);
    }
    CHECK_EQ_INT(w.kept, LIMIT_ACCOUNT_IDEMPOTENCY_KEYS + 1);
    CHECK(!is_made(&w, 100, 0) && is_made(&w, 101, 0) && is_made(&w, 9, 0));
    CHECK(is_made(&w, 100 + LIMIT_ACCOUNT_IDEMPOTENCY_KEYS, 0));
    /* One key has its own bound first: it takes none of the others'. */
    for (unsigned i = 0; i <= LIMIT_IDEMPOTENCY_KEYS; i++) {
        w.now_ms++;
        key = key_of(50, i, 0);
        key.account_no = 1;
        make(&w, key, i);
    }
    CHECK_EQ_INT(w.kept, LIMIT_ACCOUNT_IDEMPOTENCY_KEYS + 1);
    CHECK(!is_made(&w, 50, 0) && is_made(&w, 50, 1));
    CHECK(!is_made(&w, 100 + LIMIT_IDEMPOTENCY_KEYS, 0));
    CHECK(is_made(&w, 101 + LIMIT_IDEMPOTENCY_KEYS, 0) && is_made(&w, 9, 0));
    close_world(&w);
}

static void those_that_are_over_leave_the_store(void)
{
    struct world w;
    open_world(&w);
    for (unsigned i = 0; i < 100; i++)
        make(&w, key_of(i, 0, 0), i);
    w.now_ms += IDEMPOTENCY_KEPT_MS;
    for (unsigned i = 0; i < 100; i++)
        make(&w, key_of(1000, i, 0), i);
    CHECK_EQ_INT(w.kept, 100);
    close_world(&w);
}

static void what_is_damaged_is_not_taken(void)
{
    struct world w;
    open_world(&w);
    struct idempotency_key key = key_of(1, 1, 0);
    CHECK(!idempotency_refresh(w.all, str_of(key.id), STR("{}")));
    CHECK(!idempotency_refresh(w.all, str_of(key.id), STR("{")));
    CHECK(!idempotency_refresh(w.all, STR("short"),
                               STR("{\"At\":1,\"Request\":\"0\",\"Kind\":2,\"Made\":\"a\","
                                   "\"Matched\":0}")));
    CHECK(idempotency_refresh(w.all, str_of(key.id), STR_NONE)); /* never heard of */
    close_world(&w);
}

int main(void)
{
    RUN(a_key_is_found_again);
    RUN(a_key_is_free_again_after_a_day);
    RUN(of_too_many_the_oldest_goes_and_nobody_elses);
    RUN(of_an_account_the_oldest_goes_whatever_key_it_is_of);
    RUN(those_that_are_over_leave_the_store);
    RUN(what_is_damaged_is_not_taken);
    return check_done("idempotency");
}
