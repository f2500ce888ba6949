/* An array whose items are found by their keys. */
#include "store/key_table.h"

#include "check.h"

#define ITEMS 500

struct number {
    uint64_t key;
    int value;
};

/* Few hashes, so that most keys share theirs with others. */
static uint64_t hash_of(const void *key)
{
    return *(const uint64_t *)key % 7;
}

static bool same(const void *a, const void *b)
{
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

static const struct key_table_type numbers = {sizeof(struct number), hash_of, same};

static void fill(struct key_table *t, struct number *items)
{
    bool is_new;
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t key = i * i;
        CHECK_EQ_UINT(key_table_add(t, &numbers, items, &key, &is_new), i);
        CHECK(is_new);
        items[i] = (struct number){key, (int)i};
    }
}

static void each_key_is_found_where_it_was_added(void)
{
    struct key_table t = {0};
    struct number items[ITEMS] = {0};
    bool is_new;
    uint64_t none = 2;
    CHECK(key_table_find(&t, &numbers, items, &none) == SIZE_MAX);
    fill(&t, items);
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t key = i * i;
        CHECK_EQ_UINT(key_table_find(&t, &numbers, items, &key), i);
        CHECK_EQ_UINT(key_table_add(&t, &numbers, items, &key, &is_new), i);
        CHECK(!is_new);
    }
    CHECK_EQ_UINT(t.count, ITEMS);
    CHECK(key_table_find(&t, &numbers, items, &none) == SIZE_MAX);
    key_table_free(&t);
}

static void an_emptied_table_is_used_again(void)
{
    struct key_table t = {0};
    struct number items[ITEMS] = {0};
    fill(&t, items);
    size_t slots = t.slot_count;
    key_table_clear(&t);
    uint64_t key = 4;
    CHECK(key_table_find(&t, &numbers, items, &key) == SIZE_MAX);
    fill(&t, items);
    CHECK_EQ_UINT(t.slot_count, slots);
    key_table_free(&t);
}

int main(void)
{
    RUN(each_key_is_found_where_it_was_added);
    RUN(an_emptied_table_is_used_again);
    return check_done("key_table");
}
