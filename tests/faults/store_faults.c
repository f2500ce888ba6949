/*
 * store_faults [SEEDS [FIRST-SEED]]: the SQLite store over a disk that fails and loses power.
 *
 * A run is several lives of one store on one simulated disk. Each begins by comparing everything
 * that can be read with the oracle, which holds what was acknowledged. Requests that were under
 * way when the last life ended may have been recorded, in the order they were made and each as a
 * whole: the oracle takes them one by one until it agrees, or never does, which is a failure.
 * Then random requests are made until the power goes or the disk refuses something.
 */
#include "../conformance/openers.h"
#include "base/alloc.h"
#include "base/log.h"
#include "check.h"
#include "domain/clock.h"
#include "ops.h"
#include "sim_vfs.h"
#include "state_text.h"
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#define LIVES 5
#define BURSTS 40 /* of up to BURST requests at once, in a life */
#define BURST 4
#define CALLS 36 /* of each kind that are made to fail one after the other */
#define DEFAULT_SEEDS 120

static char directory[64]; /* of the lock file; everything else is on the simulated disk */

struct run {
    struct rng rng;
    struct traffic traffic;
    struct sim_disk *disk;
    struct test_env oracle_env, env;
    struct subject oracle, store;
    struct op *in_doubt[BURSTS * BURST]; /* asked for, not acknowledged; oldest first */
    size_t in_doubt_count;
    int64_t now_ms;
    int acknowledged, recovered, busy; /* how many, ever */
    uint64_t segment_bytes;
    bool good, quiet, is_full;
};

static struct store *open_store(struct subject *subject)
{
    struct run *r = subject->context;
    struct sqlite_store_options o = {
        .directory = directory,
        .disk = sim_disk_of(r->disk),
        .env = &r->env.env,
        .retention = {.bodies_days = 90, .attempts_days = 30, .panelists_days = 91},
        .journal_segment_bytes = r->segment_bytes,
        .checkpoint_pages = 40,
        .scrub_interval_ms = 1000,
    };
    char *why = NULL;
    struct store *store = sqlite_store_open(&o, &why);
    if (!store && r->good && !r->quiet && getenv("FAULTS_VERBOSE"))
        printf("  not opened: %s\n", why);
    free(why);
    return store;
}

static bool expect(struct run *r, bool held, const char *what)
{
    if (!held && r->good && !r->quiet)
        printf("  %s\n", what);
    r->good &= held;
    return held;
}

/* --- what must be there ------------------------------------------------------------------------
 */

static void oracle_text(struct run *r, struct buf *to)
{
    buf_clear(to);
    state_add_objects(&r->oracle, to);
    state_add(&r->oracle, to);
}

/* Whether an erasure in doubt was made cannot be read where its panelist only started surveys;
 * later counts would tell. Made again, it was made. */
static void settle_erasures(struct run *r)
{
    struct verdict verdicts[OP_ITEMS_MAX];
    for (size_t i = 0; r->good && i < r->in_doubt_count; i++) {
        const struct op *op = r->in_doubt[i];
        if (op->kind != OP_ERASE)
            continue;
        enum store_status oracle = op_finish(&r->oracle, op_start(&r->oracle, op), verdicts);
        expect(r, op_finish(&r->store, op_start(&r->store, op), verdicts) == oracle,
               "an erasure cannot be made again");
    }
}

/* Whatever a crash has left: it is no damage. */
static void expect_undamaged(struct run *r)
{
    struct store_numbers numbers;
    store_get_numbers(r->store.store, &numbers);
    while (numbers.scrub_passes == 0 && turns_sleep_us(1000))
        store_get_numbers(r->store.store, &numbers);
    if (!expect(r, numbers.scrub_damaged == 0, "the scrub takes for damage what is none"))
        printf("  %s\n", numbers.scrub_example);
}

/* The store's text, opened with nothing arranged against it; it stays open. */
static void compare_with_oracle(struct run *r)
{
    if (!expect(r, subject_open_unstarted(&r->store, &r->env), "the store cannot be opened"))
        return;
    struct buf got = {0}, want = {0}, first = {0};
    state_add_objects(&r->store, &got);
    subject_start(&r->store);
    state_add(&r->store, &got);
    oracle_text(r, &want);
    buf_add_str(&first, buf_str(&want));
    size_t taken = 0;
    struct verdict verdicts[OP_ITEMS_MAX];
    while (!str_eq(buf_str(&got), buf_str(&want)) && taken < r->in_doubt_count) {
        const struct op *op = r->in_doubt[taken++];
        op_finish(&r->oracle, op_start(&r->oracle, op), verdicts);
        oracle_text(r, &want);
    }
    r->recovered += (int)taken;
    if (!expect(r, str_eq(buf_str(&got), buf_str(&want)),
                "what is there is not what was acknowledged") &&
        !r->quiet)
        state_print_difference(&got, &first);
    settle_erasures(r);
    expect_undamaged(r);
    for (size_t i = 0; i < r->in_doubt_count; i++)
        op_free(r->in_doubt[i]);
    r->in_doubt_count = 0;
    buf_free(&got);
    buf_free(&want);
    buf_free(&first);
}

/* --- a life ------------------------------------------------------------------------------------
 */

static void acknowledge(struct run *r, struct op *op, enum store_status status,
                        const struct verdict *verdicts)
{
    struct verdict want[OP_ITEMS_MAX];
    enum store_status oracle = op_finish(&r->oracle, op_start(&r->oracle, op), want);
    expect(r, oracle == status, "another status than the oracle's");
    for (size_t i = 0; op->kind == OP_SUBMIT && i < op->count; i++)
        expect(r,
               verdicts[i].kind == want[i].kind &&
                   (want[i].kind != VERDICT_ACCEPTED || verdicts[i].event_no == want[i].event_no),
               "another verdict than the oracle's");
    r->acknowledged++;
    op_free(op);
}

/* A few requests at once. False once the store has failed. */
static bool burst(struct run *r)
{
    struct op *ops[BURST];
    struct started_op *started[BURST];
    size_t count = 1 + rng_below(&r->rng, BURST), n = 0;
    bool has_outcomes = false, erases = false;
    for (size_t i = 0; i < count && !erases; i++) {
        struct op *op = op_random(&r->traffic, &r->oracle, r->now_ms);
        /* A lane reports each try once. An erasure is answered later than what was asked for
         * after it, so it is asked for alone. */
        erases = op->kind == OP_ERASE;
        if (r->is_full && op->kind != OP_SUBMIT) { /* it would wait for room */
            op_free(op);
            continue;
        }
        if ((op->kind == OP_RECORD && has_outcomes) || (erases && n > 0)) {
            op_free(op);
            break;
        }
        ops[n++] = op;
        if (op->kind == OP_RECORD) { /* first: outcomes may overtake the others */
            ops[n - 1] = ops[0];
            ops[0] = op;
            has_outcomes = true;
        }
    }
    for (size_t i = 0; i < n; i++)
        started[i] = op_start(&r->store, ops[i]);
    bool failed = false, intake_failed = false;
    for (size_t i = 0; i < n; i++) {
        struct verdict verdicts[OP_ITEMS_MAX];
        enum store_status status = op_finish(&r->store, started[i], verdicts);
        bool is_intake = ops[i]->kind == OP_SUBMIT;
        if (status == STORE_FAILED) {
            failed = true;
            intake_failed |= is_intake;
            r->in_doubt[r->in_doubt_count++] = ops[i];
        } else if (status == STORE_BUSY) {
            r->busy++;
            op_free(ops[i]);
        } else {
            /* Intake may overtake a change that waits for room in the journal, in vain. */
            expect(r, is_intake ? !intake_failed : !failed, "acknowledged after a failure");
            acknowledge(r, ops[i], status, verdicts);
        }
    }
    return !failed;
}

/* A page is read while the burst is made: on an older snapshot, beside what is written meanwhile.
 */
static bool burst_beside_page(struct run *r)
{
    struct due_page page = {.lane = lane_of(APP_A1, LANE_SUCCESS),
                            .due_until_ms = INT64_MAX,
                            .limit = LIMIT_PAGE_CALLBACKS};
    subject_start_page(&r->store, &page);
    bool alive = burst(r);
    subject_wait(&r->store, &page.done);
    if (page.status == STORE_OK)
        drop_callbacks(page.items, page.count);
    return alive;
}

static void live(struct run *r)
{
    bool alive = true;
    for (int i = 0; r->good && alive && i < BURSTS; i++) {
        r->now_ms += (int64_t)rng_below(&r->rng, 5000);
        if (rng_below(&r->rng, 40) == 0) /* what comes next closes the segment */
            r->now_ms += 31 * DAY_MS;
        alive = rng_below(&r->rng, 3) == 0 ? burst_beside_page(r) : burst(r);
        if (rng_below(&r->rng, 3) == 0) /* the applier has something to do by itself */
            REQUIRE(turns_sleep_us((int64_t)rng_below(&r->rng, 1500000)));
        if (alive && rng_below(&r->rng, 3) == 0) { /* a read makes the store apply what it has */
            struct callback_get get = {.account_no = ACCOUNT_A, .event_id = STR("id-1")};
            subject_get(&r->store, &get);
            arena_free(&get.arena);
        }
    }
    if (alive)
        return;
    struct store_numbers numbers;
    store_get_numbers(r->store.store, &numbers);
    expect(r, numbers.failed && !numbers.accepting, "a store that failed says so");
    expect(r, !burst(r), "a store that failed acknowledges");
}

/* What may fail, and about how often it is called in a life. */
static const struct {
    const char *in; /* the journal's files, the database's WAL, both of the database's */
    enum sim_fault fault;
    uint64_t within;
} failing[] = {
    {"/journal/", SIM_SYNC, 60}, {"/journal/", SIM_WRITE, 60},  {".db-wal", SIM_SYNC, 8},
    {".db-wal", SIM_WRITE, 150}, {"postbackd.db", SIM_SYNC, 8}, {"postbackd.db", SIM_WRITE, 200},
};

static void arrange_fault(struct run *r)
{
    size_t i = rng_below(&r->rng, ARRAY_LEN(failing));
    sim_disk_fail(r->disk, failing[i].fault, failing[i].in,
                  1 + rng_below(&r->rng, failing[i].within),
                  rng_below(&r->rng, 8) == 0 ? ENOSPC : EIO);
}

/* Failing calls and a power cut, in one life. */
static void arrange_trouble(struct run *r)
{
    for (uint64_t faults = rng_below(&r->rng, 3); faults > 0; faults--)
        arrange_fault(r);
    if (rng_below(&r->rng, 2) == 0)
        sim_disk_cut_after_failure(r->disk, 1 + rng_below(&r->rng, 120));
    else if (rng_below(&r->rng, 3) != 0)
        sim_disk_cut_after(r->disk, 1 + rng_below(&r->rng, 250));
}

static void end_trouble(struct run *r)
{
    sim_disk_forgive(r->disk);
    if (sim_disk_is_off(r->disk) || rng_below(&r->rng, 2) == 0) {
        sim_disk_cut_now(r->disk);
        sim_disk_restart(r->disk);
    }
}

/* The power goes while the store recovers. */
static void crash_while_opening(struct run *r)
{
    sim_disk_cut_after(r->disk, 1 + rng_below(&r->rng, 40));
    if (subject_open_unstarted(&r->store, &r->env))
        subject_close(&r->store);
    end_trouble(r);
}

static void run_lives(struct run *r)
{
    for (int i = 0; r->good && i < LIVES; i++) {
        while (rng_below(&r->rng, 3) == 0)
            crash_while_opening(r);
        compare_with_oracle(r);
        if (!r->good && !r->store.store)
            break;
        arrange_trouble(r);
        if (r->good)
            live(r);
        subject_close(&r->store);
        end_trouble(r);
    }
    if (!r->good)
        return;
    compare_with_oracle(r);
    if (r->store.store)
        subject_close(&r->store);
}

/* Threads take turns until run_done. */
static void run_init(struct run *r, uint64_t seed)
{
    turns_begin(seed);
    *r = (struct run){.now_ms = BASE_MS, .good = true};
    r->segment_bytes = 16 << 10; /* soon released and used again */
    rng_seed(&r->rng, seed);
    rng_seed(&r->traffic.rng, seed + 1);
    r->traffic.ids = 40 + (int)rng_below(&r->rng, 400);
    test_env_init(&r->oracle_env, seed);
    test_env_init(&r->env, seed + 2);
    r->disk = sim_disk_new(seed);
    sim_vfs_add(r->disk);
    opener_memory(&r->oracle);
    subject_open(&r->oracle, &r->oracle_env);
    r->store = (struct subject){.name = "sqlite", .open = open_store, .context = r, .keeps = true};
}

/* Returns the trace. */
static uint64_t run_done(struct run *r)
{
    for (size_t i = 0; i < r->in_doubt_count; i++)
        op_free(r->in_doubt[i]);
    subject_close(&r->oracle);
    sim_vfs_remove(r->disk);
    sim_disk_free(r->disk);
    return turns_end();
}

/* --- the tests ---------------------------------------------------------------------------------
 */

static uint64_t first_seed = 1;
static int seeds = DEFAULT_SEEDS;

/* A whole run. Returns its trace. */
static uint64_t run_seed(struct run *r, uint64_t seed, bool lying, bool quiet)
{
    run_init(r, seed);
    r->quiet = quiet;
    sim_disk_set_lying(r->disk, lying);
    run_lives(r);
    turns_note((uint64_t)r->acknowledged);
    turns_note(sim_disk_changes(r->disk));
    return run_done(r);
}

static void keeps_what_it_acknowledged(void)
{
    int acknowledged = 0, recovered = 0;
    for (int i = 0; i < seeds; i++) {
        struct run r;
        uint64_t seed = first_seed + (uint64_t)i;
        (void)run_seed(&r, seed, false, false);
        acknowledged += r.acknowledged;
        recovered += r.recovered;
        if (!CHECK(r.good)) {
            printf("  seed %llu\n", (unsigned long long)seed);
            return;
        }
    }
    printf("  %d seeds: %d requests acknowledged, %d found that were in doubt\n", seeds,
           acknowledged, recovered);
    CHECK(acknowledged > seeds);
}

/* A failing seed fails every time: whatever threads did, they do again. */
static void a_seed_is_a_run(void)
{
    struct run r;
    uint64_t last = 0;
    for (uint64_t seed = first_seed; seed < first_seed + 5; seed++) {
        uint64_t trace = run_seed(&r, seed, false, false);
        CHECK_EQ_UINT(run_seed(&r, seed, false, false), trace);
        CHECK(trace != last);
        last = trace;
    }
}

/* A life in which the n-th such call fails, then one that the power ends, and what is there. */
static bool survives(size_t fault, uint64_t n)
{
    struct run r;
    run_init(&r, first_seed + n);
    int error = n % 4 == 0 ? ENOSPC : EIO;
    sim_disk_fail(r.disk, failing[fault].fault, failing[fault].in, n, error);
    if (subject_open_unstarted(&r.store, &r.env)) {
        subject_start(&r.store);
        live(&r);
        subject_close(&r.store);
    }
    end_trouble(&r);
    for (int life = 0; r.good && life < 2; life++) {
        compare_with_oracle(&r);
        if (!r.store.store)
            break;
        sim_disk_cut_after(r.disk, 1 + rng_below(&r.rng, 120));
        if (r.good && life == 0)
            live(&r);
        subject_close(&r.store);
        end_trouble(&r);
    }
    (void)run_done(&r);
    if (!r.good)
        printf("  call %llu of kind %zu, seed %llu\n", (unsigned long long)n, fault,
               (unsigned long long)(first_seed + n));
    return r.good;
}

/* Each of the first calls of each kind, those of the opening among them; with as many seeds as
 * there are by default every third. */
static void survives_every_call_that_fails(void)
{
    uint64_t step = seeds > DEFAULT_SEEDS ? 1 : 3;
    for (size_t i = 0; i < ARRAY_LEN(failing); i++)
        for (uint64_t n = 1 + i % step; n <= CALLS; n += step)
            REQUIRE(CHECK(survives(i, n)));
}

/* A full disk: clear refusals, nothing lost, and on it goes as soon as there is room. */
static void recovers_from_a_full_disk(void)
{
    struct run r;
    run_init(&r, 1);
    r.traffic.ids = 1 << 20; /* hardly any duplicates: everything takes room */
    /* Room is reserved for groups that are smaller than a segment, as all are outside this suite.
     */
    r.segment_bytes = 64 << 10;
    compare_with_oracle(&r);
    REQUIRE(r.good);
    r.is_full = true;
    uint64_t room = 0;
    for (int i = 0; i < 3; i++) {
        room += i == 0 ? 900000 : 300000;
        sim_disk_set_capacity(r.disk, room);
        int before = r.busy;
        for (int b = 0; r.good && b < 2000 && r.busy == before; b++)
            expect(&r, burst(&r), "a full disk stopped the store");
        expect(&r, r.busy > before, "the disk never filled up");
    }
    /* Outcomes and erasures are never refused: they wait for room. */
    static const enum op_kind kinds[] = {OP_RECORD, OP_ERASE};
    struct op *waiting[ARRAY_LEN(kinds)];
    struct started_op *started[ARRAY_LEN(kinds)];
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        while ((waiting[i] = op_random(&r.traffic, &r.oracle, r.now_ms))->kind != kinds[i])
            op_free(waiting[i]);
        started[i] = op_start(&r.store, waiting[i]);
        int refused = r.busy + 3;
        while (r.good && r.busy < refused) /* and intake is refused all the same, at once */
            burst(&r);
    }
    uint64_t jumps = turns_jumps();
    REQUIRE(turns_sleep_us(400000));
    expect(&r, turns_jumps() - jumps < 20, "what waits for room keeps a processor busy");
    sim_disk_set_capacity(r.disk, 0);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        acknowledge(&r, waiting[i], op_finish(&r.store, started[i], NULL), NULL);
    int64_t until = env_mono_ms(env_real()) + 30000;
    int acknowledged = r.acknowledged;
    while (r.good && r.acknowledged == acknowledged && env_mono_ms(env_real()) < until)
        burst(&r);
    expect(&r, r.acknowledged > acknowledged, "room again, and still busy");
    subject_close(&r.store);
    sim_disk_cut_now(r.disk);
    sim_disk_restart(r.disk);
    compare_with_oracle(&r);
    if (r.store.store)
        subject_close(&r.store);
    CHECK(r.good);
    (void)run_done(&r);
}

static void never_run(struct task *task)
{
    (void)task; /* the subject keeps what is done until it is waited for */
}

static enum store_status take_in(struct run *r, const char *id, const char *panelist)
{
    struct candidate c = item(EVENT_SURVEY_COMPLETED, id);
    struct verdict v;
    c.panelist_id = str_of(panelist);
    return subject_submit(&r->store, &c, 1, BASE_MS, &v);
}

static void refuse_intake_while_an_erasure_waits(uint64_t seed)
{
    struct run r;
    struct store_numbers numbers = {.refusal = STORE_TAKES};
    run_init(&r, seed);
    compare_with_oracle(&r);
    REQUIRE(r.good);
    /* Not by the disk's capacity: the WAL may have room within itself. */
    sim_disk_fail_every(r.disk, SIM_WRITE, "-wal", ENOSPC);
    CHECK_EQ_INT(take_in(&r, "e-1", "ann"), STORE_OK);
    struct callback_get get = {.done.run = never_run,
                               .reply_to = &r.store.executor,
                               .account_no = ACCOUNT_A,
                               .event_id = STR("e-1")};
    store_get_callback(r.store.store, &get); /* has the memtable applied, once there is room; */
    while (numbers.refusal != STORE_REFUSES_DATABASE) /* the applier is yet to try, and to wait */
        if (turns_sleep_us(1000))
            store_get_numbers(r.store.store, &numbers);
    CHECK_EQ_INT(take_in(&r, "e-2", "ann"), STORE_OK); /* this goes behind it, */
    struct erase erase = {.done.run = never_run,
                          .reply_to = &r.store.executor,
                          .account_no = ACCOUNT_A,
                          .panelist_id = STR("ann")};
    store_erase(r.store.store, &erase); /* and what comes after this has no place */
    alarm(60);                          /* it would wait for ever */
    CHECK_EQ_INT(take_in(&r, "e-3", "bob"), STORE_BUSY);
    alarm(0);
    store_get_numbers(r.store.store, &numbers);
    CHECK_EQ_INT(numbers.refused[STORE_REFUSES_DATABASE], 1); /* the journal has room */
    CHECK_EQ_INT(numbers.refused[STORE_REFUSES_JOURNAL], 0);
    sim_disk_forgive(r.disk);
    subject_wait(&r.store, &get.done);
    subject_wait(&r.store, &erase.done);
    CHECK_EQ_INT(get.status, STORE_OK);
    arena_free(&get.arena);
    CHECK_EQ_INT(erase.status, STORE_OK);
    CHECK_EQ_INT(erase.erased, 2);
    CHECK_EQ_INT(take_in(&r, "e-3", "bob"), STORE_OK);
    subject_close(&r.store);
    (void)run_done(&r);
}

/* SQLite has no room where the journal has: an erasure waits for as long as it takes, and what is
 * taken in after it would have to wait as well, so it is refused, in whatever order threads run. */
static void refuses_intake_while_an_erasure_waits(void)
{
    for (uint64_t seed = first_seed; seed < first_seed + 20; seed++)
        refuse_intake_while_an_erasure_waits(seed);
}

/* True when a run over a disk that lies about syncs goes wrong, in a child: it may well end in
 * an assertion. */
static bool lying_disk_is_caught(uint64_t seed)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        alarm(20);
        struct run r;
        (void)run_seed(&r, seed, true, true);
        _exit(r.good ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        return false;
    return WIFEXITED(status) ? WEXITSTATUS(status) == 1 : WTERMSIG(status) == SIGABRT;
}

static void finds_a_lying_disk(void)
{
    int caught = 0;
    for (uint64_t seed = 1; seed <= 6; seed++)
        caught += lying_disk_is_caught(seed);
    CHECK(caught >= 4);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seeds = atoi(argv[1]);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (!getenv("FAULTS_VERBOSE"))
        log_set((enum log_level)(LOG_ERROR + 1), false); /* every planned failure is logged */
    strcpy(directory, "/tmp/postbackd-faults-XXXXXX");
    if (!mkdtemp(directory))
        abort();
    RUN(a_seed_is_a_run);
    RUN(keeps_what_it_acknowledged);
    RUN(survives_every_call_that_fails);
    RUN(recovers_from_a_full_disk);
    RUN(refuses_intake_while_an_erasure_waits);
    RUN(finds_a_lying_disk);
    rmdir(directory);
    return check_done("store_faults");
}
