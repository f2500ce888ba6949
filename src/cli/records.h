/* A partner's own records of rewards, read from a file: NDJSON (bodies of received callbacks are
 * valid) or CSV (RFC 4180) whose first line has the columns' names. RewardId and Reward are
 * required, RevenueAmount is compared if given; other members are ignored. Test callbacks
 * ("IsTest":true) are left out. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

#include <stdint.h>
#include <stdio.h>

struct input_record {
    struct str reward_id;
    int64_t reward_micros, revenue_micros;
    bool has_revenue;
    bool matched; /* records_read sets it to false */
    long line;
};

struct records {
    struct arena arena;
    struct input_record *items; /* sorted by RewardId, then line, after records_read */
    size_t count, capacity;
};

/* False: *ret_why is a sentence in the arena that names the line. */
MUST_CHECK bool records_read(struct records *r, FILE *f, struct str *ret_why);
/* The first record of that RewardId; NULL: none. Further ones follow it. */
struct input_record *records_find(const struct records *r, struct str reward_id);
void records_free(struct records *r);
