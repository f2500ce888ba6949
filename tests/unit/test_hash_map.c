/* Elements are found by what they are, however many share a hash, and leave while the map is
 * visited; an index is a map by id. */
#include "check.h"

#include "base/check.h"
#include "base/env.h"
#include "base/hash_map.h"
#include "base/index.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY 1000

struct thing {
    struct hash_node node;
    int number;
};

static struct thing things[MANY];

static struct thing *find(const struct hash_map *map, uint64_t hash, int number)
{
    for (struct hash_node *n = hash_map_first(map, hash); n; n = hash_map_next(n)) {
        struct thing *thing = CONTAINER_OF(n, struct thing, node);
        if (thing->number == number)
            return thing;
    }
    return NULL;
}

static void fill(struct hash_map *map, uint64_t hashes)
{
    for (int i = 0; i < MANY; i++) {
        things[i].number = i;
        hash_map_add(map, &things[i].node, (uint64_t)i % hashes);
    }
}

static void finds_each_of_many(void)
{
    const uint64_t hashes[] = {1, 7, UINT64_MAX};
    for (size_t h = 0; h < 3; h++) {
        struct hash_map map = {0};
        CHECK(find(&map, 0, 0) == NULL);
        fill(&map, hashes[h]);
        for (int i = 0; i < MANY; i += 2)
            hash_map_remove(&map, &things[i].node);
        for (int i = 0; i < MANY; i++)
            CHECK(find(&map, (uint64_t)i % hashes[h], i) == (i % 2 ? &things[i] : NULL));
        CHECK_EQ_UINT(map.count, MANY / 2);
        hash_map_free(&map);
    }
}

static void leave(void *context, struct hash_node *node)
{
    hash_map_remove(context, node);
}

static void is_emptied_by_a_visit(void)
{
    struct hash_map map = {0};
    fill(&map, 3);
    hash_map_visit(&map, leave, &map);
    CHECK_EQ_UINT(map.count, 0);
    hash_map_free(&map);
}

/* Random puts and removals beside a plain table. */
static void index_agrees_with_a_plain_table(void)
{
    enum { IDS = 300 };
    static char ids[IDS][8];
    void *plain[IDS] = {0};
    struct index ix = {0};
    struct rng rng;
    rng_seed(&rng, 7);
    for (int i = 0; i < IDS; i++)
        snprintf(ids[i], sizeof ids[i], "id%d", i);
    int wrong = 0;
    for (int round = 0; round < 20000; round++) {
        size_t i = rng_below(&rng, IDS);
        void *entry = &ids[rng_below(&rng, IDS)];
        if (rng_below(&rng, 2)) {
            wrong += index_put(&ix, str_of(ids[i]), entry) != plain[i];
            plain[i] = entry;
        } else {
            wrong += index_remove(&ix, str_of(ids[i])) != plain[i];
            plain[i] = NULL;
        }
        size_t other = rng_below(&rng, IDS);
        wrong += index_find(&ix, str_of(ids[other])) != plain[other];
    }
    size_t used = 0;
    for (int i = 0; i < IDS; i++) {
        used += plain[i] != NULL;
        wrong += index_find(&ix, str_of(ids[i])) != plain[i];
    }
    CHECK_EQ_UINT(ix.nodes.count, used);
    for (const struct index_node *at = index_after(&ix, NULL); at; at = index_after(&ix, at)) {
        size_t i = (size_t)strtoul(at->id.p + 2, NULL, 10);
        wrong += plain[i] != at->entry;
        plain[i] = NULL;
        used--;
    }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_UINT(used, 0); /* each was walked over once */
    index_free(&ix);
}

int main(void)
{
    RUN(finds_each_of_many);
    RUN(is_emptied_by_a_visit);
    RUN(index_agrees_with_a_plain_table);
    return check_done("hash_map");
}
