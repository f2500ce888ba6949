/* Schedules and random sources for tests. */
#include "schedule_fixture.h"

#include "check.h"

struct schedule schedule_parsed(const char *text)
{
    struct schedule s = {0};
    const char *why = NULL;
    CHECK(schedule_parse(str_of(text), &s, &why));
    return s;
}

struct rng rng_seeded(uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed);
    return rng;
}
