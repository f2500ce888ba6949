/* Schedules from texts, and random sources from seeds, for tests of retries. */
#pragma once

#include "domain/schedule.h"

struct schedule schedule_parsed(const char *text); /* the text is right */
struct rng rng_seeded(uint64_t seed);
