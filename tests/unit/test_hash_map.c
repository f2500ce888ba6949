/* Elements are found by what they are, however many share a hash, and leave while the map is
 * visited. */
#include "check.h"

#include "base/check.h"
#include "base/hash_map.h"

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

int main(void)
{
    RUN(finds_each_of_many);
    RUN(is_emptied_by_a_visit);
    return check_done("hash_map");
}
