/* A partner's own records of rewards, read from a file: NDJSON (bodies of callbacks as they came
 * will do) or CSV (RFC 4180) whose first line names its columns. RewardId and Reward are needed,
 * RevenueAmount is compared where it is given; whatever else there is, is passed over. Test
 * callbacks ("IsTest":true) are left out. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

#include <stdint.h>
#include <stdio.h>

struct input_record {
    struct str reward_id;
    int64_t reward_micros, revenue_micros;
    bool has_revenue;
    bool matched; /* the reader's: false */
    long line;
};

struct records {
    struct arena arena;
    struct input_record *items; /* by RewardId, then line, once read */
    size_t count, capacity;
};

/* False: *ret_why is a sentence in the arena that names the line. */
MUST_CHECK bool records_read(struct records *r, FILE *f, struct str *ret_why);
/* The first record of that RewardId; NULL: none. Others of it follow it. */
struct input_record *records_find(const struct records *r, struct str reward_id);
void records_free(struct records *r);
