/* The scrub on the real disk: what it finds of damage, and that it takes nothing else for it. */
#include "check.h"
#include "sqlite_store.h"

#include "base/alloc.h"
#include "store/sqlite/page_sum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERVAL_MS 20 /* passes follow each other */
#define SEGMENT (64 << 10)

/* --- passes ------------------------------------------------------------------------------------
 */

static struct store_numbers numbers(void)
{
    struct store_numbers n;
    store_get_numbers(store, &n);
    return n;
}

/* Two whole passes: one that began behind this call has ended. */
static struct store_numbers wait_for_pass(void)
{
    int64_t until = numbers().scrub_passes + 2;
    while (numbers().scrub_passes < until)
        usleep(2000);
    return numbers();
}

static void begin_scrubbed(void)
{
    test_segment_bytes = SEGMENT;
    test_scrub_interval_ms = INTERVAL_MS;
    begin();
}

static void end_scrubbed(void)
{
    end();
    test_segment_bytes = 0;
    test_checkpoint_pages = 0;
    test_scrub_interval_ms = 0;
}

/* --- files -------------------------------------------------------------------------------------
 */

static char *database_path(void)
{
    return xprintf("%s/postbackd.db", directory);
}

/* Changes one byte, and so finds and mends it, too. */
static void flip(const char *path, off_t at)
{
    char byte;
    int fd = open(path, O_RDWR);
    ASSERT(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    ASSERT(pwrite(fd, &byte, 1, at) == 1 && fdatasync(fd) == 0 && close(fd) == 0);
}

static off_t size_of(const char *path)
{
    struct stat st;
    ASSERT(stat(path, &st) == 0);
    return st.st_size;
}

/* --- the database ------------------------------------------------------------------------------
 */

static void submit_some(int from, int count)
{
    char id[32];
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "event-%d", from + i);
        CHECK_EQ_INT(submit(make(EVENT_OFFER_COMPLETED, id, "panelist")).kind, VERDICT_ACCEPTED);
    }
}

static void pages_are_sealed(void)
{
    char page[PAGE_BYTES] = "content", zeros[PAGE_BYTES] = {0};
    page_seal(page, 7);
    CHECK(page_is_whole(page, 7));
    CHECK(!page_is_whole(page, 8)); /* one that was written to another place */
    for (size_t at = 0; at < PAGE_BYTES; at++) {
        page[at] ^= 1;
        CHECK(!page_is_whole(page, 7));
        page[at] ^= 1;
    }
    CHECK(page_is_whole(zeros, 7)); /* never written */
}

static void every_page_that_is_damaged_is_found(void)
{
    begin_scrubbed();
    submit_some(0, 200);
    (void)report(false); /* applies it: nothing more is written */
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
    char *path = database_path();
    off_t pages = size_of(path) / PAGE_BYTES;
    CHECK(pages > 20);
    for (off_t page = 1; page < pages; page += pages / 5) {
        flip(path, page * PAGE_BYTES + 100 + page % 3900);
        struct store_numbers n = wait_for_pass();
        CHECK_EQ_INT(n.scrub_damaged, 1);
        CHECK(strstr(n.scrub_example, path) != NULL);
        flip(path, page * PAGE_BYTES + 100 + page % 3900);
        n = wait_for_pass();
        CHECK_EQ_INT(n.scrub_damaged, 0);
        CHECK_CSTR(n.scrub_example, "");
    }
    flip(path, 2 * PAGE_BYTES + 5);
    flip(path, (pages - 1) * PAGE_BYTES + 4095);
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 2);
    free(path);
    end_scrubbed();
}

/* --- the journal -------------------------------------------------------------------------------
 */

static char *segment(int number)
{
    return xprintf("%s/journal/journal-%016x", directory, number);
}

static int oldest, newest; /* of the segments that are live */

/* Several segments that are not applied and so not released. The store may apply some events all
 * the same: the first ones at once, and what is there when it has to wait for a segment. */
static void begin_with_segments(void)
{
    int groups = 0, live;
    mono_stands_still = true;
    begin_scrubbed();
    do {
        int count = groups ? 15 : 18; /* a block each, 15 to a segment */
        submit_some(groups, count);
        groups += count;
        live = (int)(wait_for_pass().journal_bytes / SEGMENT);
    } while (live < 3);
    newest = (groups + 14) / 15;
    oldest = newest - live + 1;
}

static void end_with_segments(void)
{
    mono_stands_still = false;
    end_scrubbed();
}

static void check_damage_is_found(int number, off_t at)
{
    char *path = segment(number), *place = xprintf("%s at byte", path);
    flip(path, at);
    struct store_numbers n = wait_for_pass();
    CHECK_EQ_INT(n.scrub_damaged, 1);
    CHECK(strstr(n.scrub_example, place) != NULL);
    flip(path, at);
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
    free(place);
    free(path);
}

static void damage_of_each_segment_is_found(void)
{
    begin_with_segments();
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
    for (int number = oldest; number <= newest; number++) {
        check_damage_is_found(number, 20);             /* its head */
        check_damage_is_found(number, 4096 + 1);       /* a group's head */
        check_damage_is_found(number, 2 * 4096 + 100); /* its records */
    }
    check_damage_is_found(oldest, 15 * 4096 + 10); /* the last group of one that is closed */
    char *first = segment(oldest), *last = segment(newest);
    flip(first, 4096 + 100);
    flip(last, 4096 + 100);
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 2);
    flip(first, 4096 + 100);
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 1);
    flip(last, 4096 + 100);
    free(last);
    free(first);
    end_with_segments();
}

static void check_missing_is_found(char *path)
{
    char *elsewhere = xprintf("%s-moved", path);
    ASSERT(rename(path, elsewhere) == 0);
    struct store_numbers n = wait_for_pass();
    CHECK_EQ_INT(n.scrub_damaged, 1);
    CHECK(strstr(n.scrub_example, path) != NULL);
    ASSERT(rename(elsewhere, path) == 0);
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
    free(elsewhere);
    free(path);
}

static void files_that_are_gone_are_missed(void)
{
    begin_with_segments();
    check_missing_is_found(segment(oldest + 1));
    check_missing_is_found(segment(newest));
    check_missing_is_found(database_path());
    end_with_segments();
}

/* --- a disk that does as it is told ------------------------------------------------------------
 */

static atomic_int failing_fd = -1;
static atomic_llong failing_from;

static ssize_t failing_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    (void)disk;
    char link[64], path[512] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    bool is_database = length > 3 && strcmp(path + length - 3, ".db") == 0;
    bool fails = failing_fd >= 0 && is_database == (failing_fd == 0);
    if (fails && offset <= failing_from && offset + (int64_t)n > failing_from)
        return -EIO;
    return disk_real()->read_at(disk_real(), fd, to, n, offset);
}

static void what_cannot_be_read_is_told(void)
{
    begin_with_segments();
    test_read_hook = failing_read_at;
    failing_from = 3 * 4096;
    failing_fd = 0;
    struct store_numbers n = wait_for_pass();
    CHECK_EQ_INT(n.scrub_damaged, 1);
    CHECK(strstr(n.scrub_example, "postbackd.db at byte 12288: Input/output error") != NULL);
    failing_fd = 1;
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, newest - oldest + 1); /* of each segment */
    failing_fd = -1;
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
    test_read_hook = NULL;
    end_with_segments();
}

/* --- what is no damage -------------------------------------------------------------------------
 */

static void what_is_being_written_and_released_is_no_damage(void)
{
    test_checkpoint_pages = 1;
    begin_scrubbed();
    int64_t passes = numbers().scrub_passes;
    for (int i = 0; i < 1000 || numbers().scrub_passes < passes + 5; i++) {
        submit_some(i, 1);
        if (i % 200 == 0) {
            (void)report(false); /* applies what is there */
            CHECK_EQ_INT(numbers().scrub_damaged, 0);
        }
    }
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
    end_scrubbed();
}

static atomic_int lacking; /* an errno */
static atomic_int lacks;   /* calls that failed with it */

/* Three of four calls of the scrub's thread fail. */
static bool is_lacking(void)
{
    static atomic_uint calls;
    char name[16] = "";
    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0 ||
        strcmp(name, "store-scrub") != 0 || calls++ % 4 == 3)
        return false;
    lacks++;
    return true;
}

static int lacking_open(struct disk *disk, const char *path, bool create, bool direct)
{
    return is_lacking() ? -lacking : disk_real()->open(disk, path, create, direct);
}

static ssize_t lacking_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    return is_lacking() ? -lacking : disk_real()->read_at(disk, fd, to, n, offset);
}

static void a_lack_of_descriptors_or_memory_is_no_damage(void)
{
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, EINTR};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        lacking = errors[i];
        test_open_hook = lacking_open; /* from the start: it opens the database once */
        test_read_hook = lacking_read_at;
        begin_with_segments();
        lacks = 0;
        CHECK_EQ_INT(wait_for_pass().scrub_damaged, 0);
        CHECK(lacks > 0);
        test_open_hook = NULL;
        test_read_hook = NULL;
        end_with_segments();
    }
}

/* A lack that lasts does not keep the store from ending. */
static void it_stops_while_it_waits(void)
{
    begin_scrubbed();
    submit_some(0, 1);
    (void)wait_for_pass();
    lacking = EMFILE;
    test_open_hook = lacking_open;
    lacks = 0;
    while (lacks == 0)
        usleep(1000);
    end_scrubbed();
    test_open_hook = NULL;
}

static atomic_int
    held; /* 1: hold the next reader of the oldest segment; 2: it is held; 0: it may go */

static ssize_t holding_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    (void)disk;
    char link[64], path[512] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0 &&
        (int)strtoul(path + strlen(path) - 4, NULL, 16) == oldest && strstr(path, "/journal-")) {
        int wanted = 1;
        if (atomic_compare_exchange_strong(&held, &wanted, 2))
            while (held != 0)
                usleep(1000);
    }
    return disk_real()->read_at(disk_real(), fd, to, n, offset);
}

static void a_segment_released_while_it_is_read_is_no_damage(void)
{
    test_checkpoint_pages = 1;
    begin_with_segments();
    test_read_hook = holding_read_at;
    held = 1;
    for (int i = 0; held != 2 && i < 30000; i++)
        usleep(1000);
    CHECK_EQ_INT(held, 2);
    int64_t before = numbers().journal_bytes;
    for (int i = 5000; numbers().journal_bytes >= before; i++) {
        submit_some(i, 1);
        (void)report(false); /* applies it; a checkpoint follows, and another one where a reader was
                                in the way of the last */
    }
    char *path = segment(oldest);
    int fd = open(path, O_RDWR); /* it is kept to be used again, or is that already */
    free(path);
    if (fd >= 0)
        ASSERT(pwrite(fd, "damage", 6, 4096) == 6 && close(fd) == 0);
    int64_t until = numbers().scrub_passes + 2, damaged = 0;
    held = 0;
    while (numbers().scrub_passes < until) { /* a later pass would not find it */
        damaged += numbers().scrub_damaged;
        usleep(500);
    }
    CHECK_EQ_INT(damaged, 0);
    test_read_hook = NULL;
    end_with_segments();
}

/* --- over restarts -----------------------------------------------------------------------------
 */

static void what_was_found_is_known_after_a_restart(void)
{
    begin_scrubbed();
    submit_some(0, 50);
    (void)report(false);
    char *path = database_path();
    (void)wait_for_pass();
    flip(path, 3 * PAGE_BYTES + 1000);
    CHECK_EQ_INT(wait_for_pass().scrub_damaged, 1);
    test_scrub_interval_ms = 3600 * 1000;
    reopen();
    while (numbers().scrub_ended_ms == 0) /* what it remembers is loaded */
        usleep(1000);
    CHECK_EQ_INT(numbers().scrub_damaged, 1);
    CHECK(strstr(numbers().scrub_example, "at byte 12288") != NULL);
    CHECK_EQ_INT(numbers().scrub_passes, 0); /* none is due */
    flip(path, 3 * PAGE_BYTES + 1000);
    free(path);
    end_scrubbed();
}

/* A copy of the files of a running store is what a crash leaves. */
static void a_pass_follows_an_end_that_was_not_in_order(void)
{
    begin_scrubbed();
    submit_some(0, 50);
    (void)wait_for_pass();
    test_scrub_interval_ms = 3600 * 1000;
    reopen();
    char *copy = xprintf("%s-copy", directory), *command = xprintf("cp -r %s %s", directory, copy);
    char original[sizeof directory];
    while (numbers().scrub_ended_ms == 0) /* its state is loaded, and written */
        usleep(1000);
    usleep(20000);
    ASSERT(system(command) == 0);
    strcpy(original, directory);
    end();
    snprintf(directory, sizeof directory, "%s", copy);
    reopen();
    while (numbers().scrub_passes == 0)
        usleep(1000);
    CHECK_EQ_INT(numbers().scrub_damaged, 0);
    free(command);
    free(copy);
    end_scrubbed();
}

int main(void)
{
    RUN(pages_are_sealed);
    RUN(every_page_that_is_damaged_is_found);
    RUN(damage_of_each_segment_is_found);
    RUN(files_that_are_gone_are_missed);
    RUN(what_cannot_be_read_is_told);
    RUN(a_lack_of_descriptors_or_memory_is_no_damage);
    RUN(it_stops_while_it_waits);
    RUN(what_is_being_written_and_released_is_no_damage);
    RUN(a_segment_released_while_it_is_read_is_no_damage);
    RUN(what_was_found_is_known_after_a_restart);
    RUN(a_pass_follows_an_end_that_was_not_in_order);
    return check_done("scrub");
}
