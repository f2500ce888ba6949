/* Filters of keys, and the files without a name that they lie in. */
#include "base/env.h"
#include "check.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/sqlite/filter.h"
#include "store/sqlite/filter_memory.h"

#define KEYS 20000

static struct key128 key_of(size_t i)
{
    struct rng rng;
    rng_seed(&rng, i + 1);
    uint64_t hi = rng_next(&rng);
    return (struct key128){hi, rng_next(&rng)};
}

static void fill(struct filter *f)
{
    filter_init(f, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        filter_add(f, key_of(i));
}

static size_t known_of(const struct filter *f, size_t from, size_t to)
{
    size_t known = 0;
    for (size_t i = from; i < to; i++)
        known += filter_may_have(f, key_of(i));
    return known;
}

/* Each bit of a line in turn: whatever it was, no key is forgotten. */
static void a_wrong_bit_forgets_no_key(void)
{
    struct filter f;
    fill(&f);
    for (size_t bit = 0; bit < 512; bit++) {
        unsigned char *byte = (unsigned char *)&f.lines[bit % f.count] + bit / 8;
        *byte ^= (unsigned char)(1u << bit % 8);
        CHECK_EQ_UINT(known_of(&f, 0, KEYS / 64), KEYS / 64);
        *byte ^= (unsigned char)(1u << bit % 8);
    }
    memset(f.lines, 0, f.count * sizeof *f.lines); /* pages that were never written */
    CHECK_EQ_UINT(known_of(&f, 0, KEYS), KEYS);
    filter_free(&f);
}

static void no_filter_knows_every_key(void)
{
    struct filter f;
    CHECK(!filter_view(&f, (struct str){"12345678", 8}));
    CHECK_EQ_UINT(known_of(&f, 0, 10), 10);
}

/* --- memory ----------------------------------------------------------------------------------- */

static char folder[64], database[80];

static size_t files_in_folder(void)
{
    size_t count = 0;
    DIR *d = opendir(folder);
    ASSERT(d != NULL);
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2; /* itself and its parent */
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/test-filters-XXXXXX");
    ASSERT(mkdtemp(folder) != NULL);
    snprintf(database, sizeof database, "%s/postbackd.db", folder);
}

/* In two parts. A file may have `limit` bytes from the second one on. */
static void check_memory(rlim_t limit, bool is_mapped)
{
    struct filter own, view;
    struct filter_memory m;
    struct rlimit before, low;
    fill(&own);
    struct str all = filter_bytes(&own);
    size_t half = own.count / 2 * sizeof *own.lines;
    getrlimit(RLIMIT_FSIZE, &before);
    low = (struct rlimit){limit < before.rlim_max ? limit : before.rlim_max, before.rlim_max};
    filter_memory_begin(&m, database, all.n);
    CHECK(filter_memory_add(&m, (struct str){all.p, half}));
    setrlimit(RLIMIT_FSIZE, &low);
    CHECK(filter_memory_add(&m, (struct str){all.p + half, all.n - half}));
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(!filter_memory_add(&m, (struct str){all.p, 64}));
    filter_memory_end(&m);
    CHECK_EQ_INT(m.is_mapped, is_mapped);
    CHECK(filter_view(&view, (struct str){m.bytes, all.n}));
    CHECK_EQ_UINT(known_of(&view, 0, KEYS), KEYS);
    CHECK(known_of(&view, KEYS, 2 * KEYS) < KEYS / 1000);
    filter_memory_free(&m);
    filter_free(&own);
}

static void filters_lie_in_a_file_without_a_name(void)
{
    struct filter_memory never = {0}, begun;
    make_folder();
    check_memory(RLIM_INFINITY, true);
    filter_memory_begin(&begun, database, 64);
    CHECK_EQ_UINT(files_in_folder(), 0);
    filter_memory_free(&begun);
    filter_memory_free(&never);
    rmdir(folder);
}

static void where_no_file_can_be_made_memory_is_used(void)
{
    make_folder();
    rmdir(folder);
    check_memory(RLIM_INFINITY, false);
}

static void what_the_disk_has_no_room_for_is_in_memory(void)
{
    make_folder();
    signal(SIGXFSZ, SIG_IGN);
    check_memory(8192, false);
    rmdir(folder);
}

int main(void)
{
    RUN(a_wrong_bit_forgets_no_key);
    RUN(no_filter_knows_every_key);
    RUN(filters_lie_in_a_file_without_a_name);
    RUN(where_no_file_can_be_made_memory_is_used);
    RUN(what_the_disk_has_no_room_for_is_in_memory);
    return check_done("filters");
}
