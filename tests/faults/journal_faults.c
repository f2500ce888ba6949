/*
 * journal_faults [SEEDS [FIRST-SEED]]: the journal over a disk that fails and loses power.
 *
 * A run is many lives of one journal. Each life opens, checks that exactly the groups that were
 * acknowledged come back (and perhaps, whole, the one in flight when the last life ended), then
 * commits until something happens. A group that came back counts as acknowledged from then on.
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "check.h"
#include "sim_disk.h"
#include "store/journal/journal.h"

#include <errno.h>
#include <stdlib.h>

#define SEGMENT_BYTES (32u << 10)
#define LIVES 12

struct group {
    uint64_t id; /* decides its bytes */
    struct journal_position end;
};

struct model {
    struct rng rng;
    struct sim_disk *disk;
    struct group *kept; /* what must come back, from the position `applied` on */
    size_t kept_count, kept_capacity;
    struct journal_position applied; /* what the reader of the journal has made durable */
    uint64_t next_id, in_flight;     /* in_flight 0: none */
    size_t seen;
    bool good;
    bool quiet; /* a planted bug: failing is what is wanted */
};

static bool expect(struct model *m, bool held, const char *what)
{
    if (!m->quiet)
        CHECK(held);
    if (!held && m->good && !m->quiet)
        printf("  %s\n", what);
    m->good &= held;
    return held;
}

static void group_bytes(struct buf *b, uint64_t id)
{
    struct rng rng;
    rng_seed(&rng, id);
    uint64_t kind = rng_below(&rng, 10);
    size_t n = 1 + (size_t)rng_below(&rng, kind == 0 ? 3 * SEGMENT_BYTES : kind < 4 ? 9000 : 300);
    buf_clear(b);
    buf_printf(b, "%llu:", (unsigned long long)id);
    while (b->n < n) {
        uint64_t bytes = rng_next(&rng) & rng_next(&rng); /* zeros among them */
        buf_add(b, &bytes, sizeof bytes);
    }
}

static void keep(struct model *m, uint64_t id, struct journal_position end)
{
    *ARRAY_PUSH(m->kept, m->kept_count, m->kept_capacity) = (struct group){id, end};
}

static bool see(void *context, struct str records, struct journal_position end)
{
    struct model *m = context;
    uint64_t id = strtoull(records.p, NULL, 10);
    struct buf b = {0};
    group_bytes(&b, id);
    expect(m, str_eq(buf_str(&b), records), "a group came back with other bytes");
    buf_free(&b);
    if (m->seen == m->kept_count && id == m->in_flight) {
        keep(m, id, end);
        m->in_flight = 0;
    }
    if (expect(m, m->seen < m->kept_count, "a group came back that was never committed"))
        expect(m,
               m->kept[m->seen].id == id && m->kept[m->seen].end.segment == end.segment &&
                   m->kept[m->seen].end.offset_bytes == end.offset_bytes,
               "a group came back in another's place");
    m->seen++;
    return true;
}

/* trouble: something is arranged that may keep it from opening. */
static struct journal *open_journal(struct model *m, bool trouble)
{
    struct journal_options o = {
        .disk = sim_disk_of(m->disk),
        .directory = "/j",
        .id = 7,
        .segment_bytes = SEGMENT_BYTES,
        .single_threaded = true,
    };
    char *why = NULL;
    m->seen = 0;
    struct journal *j = journal_open(&o, m->applied, see, m, &why);
    if (!j)
        expect(m, why && (trouble || sim_disk_is_off(m->disk)), why);
    free(why);
    if (j)
        expect(m, m->seen == m->kept_count, "an acknowledged group is gone");
    return j;
}

/* The reader has applied some of what was committed, durably. */
static void apply_some(struct model *m, struct journal *j)
{
    size_t n = (size_t)rng_below(&m->rng, m->kept_count + 1);
    if (n == 0)
        return;
    m->applied = m->kept[n - 1].end;
    m->kept_count -= n;
    memmove(m->kept, m->kept + n, m->kept_count * sizeof *m->kept);
    journal_release(j, m->applied);
}

static void live(struct model *m, struct journal *j)
{
    struct buf b = {0};
    size_t commits = (size_t)rng_below(&m->rng, 60);
    for (size_t i = 0; i < commits; i++) {
        uint64_t id = ++m->next_id;
        struct journal_position end;
        group_bytes(&b, id);
        m->in_flight = id;
        if (!journal_commit(j, buf_str(&b), &end)) {
            expect(m, journal_error(j) != NULL, "a dead journal says why");
            expect(m, !journal_commit(j, buf_str(&b), &end), "a dead journal stays dead");
            break;
        }
        m->in_flight = 0;
        keep(m, id, end);
        if (rng_below(&m->rng, 6) == 0)
            apply_some(m, j);
    }
    buf_free(&b);
}

/* A power cut, failing calls, or both, somewhere in the next life. */
static void arrange_trouble(struct model *m)
{
    for (uint64_t faults = rng_below(&m->rng, 3); faults > 0; faults--) {
        int error = rng_below(&m->rng, 2) ? EIO : ENOSPC;
        sim_disk_fail(m->disk, rng_below(&m->rng, 2) ? SIM_SYNC : SIM_WRITE, NULL,
                      1 + rng_below(&m->rng, 150), error);
    }
    if (rng_below(&m->rng, 2) == 0)
        sim_disk_cut_after(m->disk, 1 + rng_below(&m->rng, 150));
}

static bool run(uint64_t seed, bool lying, bool quiet)
{
    struct model m = {.good = true, .quiet = quiet};
    rng_seed(&m.rng, seed);
    m.disk = sim_disk_new(seed);
    sim_disk_set_lying(m.disk, lying);
    for (int i = 0; m.good && i < LIVES; i++) {
        arrange_trouble(&m);
        struct journal *j = open_journal(&m, true);
        if (j)
            live(&m, j);
        journal_close(j);
        sim_disk_forgive(m.disk);
        bool crash = sim_disk_is_off(m.disk) || rng_below(&m.rng, 2) == 0;
        if (crash) {
            sim_disk_cut_now(m.disk);
            sim_disk_restart(m.disk);
        }
        struct journal *again = open_journal(&m, false);
        if (again && rng_below(&m.rng, 2) == 0)
            live(&m, again);
        journal_close(again);
        m.good &= again != NULL;
    }
    sim_disk_free(m.disk);
    free(m.kept);
    if (!m.good && !quiet)
        printf("  seed %llu\n", (unsigned long long)seed);
    return m.good;
}

static uint64_t first_seed = 1;
static int seeds = 200;

static void keeps_what_it_acknowledged(void)
{
    for (int i = 0; i < seeds; i++)
        REQUIRE(run(first_seed + (uint64_t)i, false, false));
}

/* A disk that lies about syncs must be caught, or the test above proves nothing. */
static void finds_a_lying_disk(void)
{
    int caught = 0;
    for (uint64_t i = 0; i < 40; i++)
        caught += !run(i, true, true);
    CHECK(caught >= 20);
}

/* A full disk is no reason to die: the journal says that it is not ready, and goes on later. */
static void waits_for_room_on_a_full_disk(void)
{
    struct model m = {.good = true};
    m.disk = sim_disk_new(1);
    struct journal *j = open_journal(&m, false);
    REQUIRE(j);
    sim_disk_set_capacity(m.disk, 2 * SEGMENT_BYTES + 100);
    struct journal_position end;
    int committed = 0;
    char group[6000] = {0};
    while (journal_ready(j, sizeof group) && committed < 1000)
        committed += journal_commit(j, (struct str){group, sizeof group}, &end);
    CHECK_EQ_INT(committed, 6); /* two segments of 28 KiB, frames of 8 KiB: 3 each */
    CHECK(journal_error(j) == NULL);
    CHECK(!journal_ready(j, sizeof group));
    CHECK(journal_commit(j, (struct str){group, 1000}, &end)); /* what fits still goes in */
    sim_disk_set_capacity(m.disk, 0);
    CHECK(journal_ready(j, sizeof group));
    CHECK(journal_commit(j, (struct str){group, sizeof group}, &end));
    journal_close(j);
    sim_disk_free(m.disk);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seeds = atoi(argv[1]);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    RUN(keeps_what_it_acknowledged);
    RUN(finds_a_lying_disk);
    RUN(waits_for_room_on_a_full_disk);
    return check_done("journal_faults");
}
