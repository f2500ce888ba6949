/*
 * The journal on the real disk: groups come back whole and in order, over many segments, recycled
 * ones and ones larger than a segment; a torn last group is dropped, damage before it is refused.
 */
#include "base/alloc.h"
#include "check.h"
#include "store/journal/frame.h"
#include "store/journal/journal.h"
#include "store/journal/journal_check.h"
#include "store/journal/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SEGMENT_BYTES (64u << 10)

static char directory[64];

static void remove_name(void *context, const char *name)
{
    (void)context;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
}

static void fresh_directory(void)
{
    strcpy(directory, "/tmp/postbackd-journal-XXXXXX");
    if (!mkdtemp(directory))
        abort();
}

static void remove_directory(void)
{
    CHECK_EQ_INT(disk_real()->list(disk_real(), directory, remove_name, NULL), 0);
    CHECK_EQ_INT(rmdir(directory), 0);
}

/* Groups are the decimal number of the group, repeated up to a length. */
struct seen {
    uint64_t first, last;
    size_t count;
    struct journal_position end;
    bool good;
};

static void fill_group(struct buf *b, uint64_t number, size_t n)
{
    buf_clear(b);
    while (b->n < n)
        buf_printf(b, "%llu,", (unsigned long long)number);
}

static bool see(void *context, struct str records, struct journal_position end)
{
    struct seen *s = context;
    uint64_t number = strtoull(records.p, NULL, 10);
    struct buf b = {0};
    fill_group(&b, number, records.n);
    s->good &= str_eq(buf_str(&b), records);
    buf_free(&b);
    if (s->count++ == 0)
        s->first = number;
    else
        s->good &= number == s->last + 1;
    s->last = number;
    s->end = end;
    return true;
}

static struct journal *open_at(struct journal_position from, struct seen *ret, char **ret_why)
{
    struct journal_options o = {
        .disk = disk_real(), .id = 7, .directory = directory, .segment_bytes = SEGMENT_BYTES};
    *ret = (struct seen){.good = true};
    return journal_open(&o, from, see, ret, ret_why);
}

static const struct journal_position start;

static struct journal_position commit(struct journal *j, uint64_t number, size_t n)
{
    struct buf b = {0};
    struct journal_position end = {0};
    fill_group(&b, number, n);
    CHECK(journal_commit(j, buf_str(&b), &end));
    buf_free(&b);
    return end;
}

static size_t size_of_group(uint64_t i)
{
    return 1 + i * 7919 % 20000;
}

static void groups_come_back_in_order(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    CHECK_EQ_UINT(s.count, 0);
    struct journal_position middle = {0}, end = {0};
    for (uint64_t i = 1; i <= 300; i++) {
        end = commit(j, i, size_of_group(i));
        if (i == 123)
            middle = end;
    }
    CHECK(end.segment > 20);
    journal_close(j);

    REQUIRE((j = open_at(start, &s, &why)));
    CHECK(s.good && s.first == 1 && s.last == 300 && s.count == 300);
    CHECK(s.end.segment == end.segment && s.end.offset_bytes == end.offset_bytes);
    CHECK_EQ_UINT(journal_live_bytes(j) % SEGMENT_BYTES, 0);
    commit(j, 301, 10);
    journal_close(j);

    REQUIRE((j = open_at(middle, &s, &why)));
    CHECK(s.good && s.first == 124 && s.last == 301);
    end = s.end;
    journal_close(j);
    REQUIRE((j = open_at(end, &s, &why)));
    CHECK_EQ_UINT(s.count, 0);
    commit(j, 302, 10);
    journal_close(j);
    CHECK(journal_read(disk_real(), directory, 7, end, see, &s, &why));
    CHECK(s.good && s.count == 1 && s.last == 302);
}

static void released_segments_are_used_again(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    struct journal_position released = {0}, end = {0};
    for (uint64_t i = 1; i <= 1000; i++) {
        end = commit(j, i, size_of_group(i));
        if (i % 10 == 0) {
            released = end;
            journal_release(j, released);
            CHECK(journal_live_bytes(j) <= SEGMENT_BYTES);
        }
    }
    for (uint64_t i = 1001; i <= 1005; i++)
        commit(j, i, 100);
    journal_close(j);
    uint64_t *numbers;
    size_t count;
    REQUIRE(segments_list(disk_real(), directory, false, &numbers, &count) == 0);
    CHECK(count <= 7); /* one in use, one ahead, four spares and what is being made of one */
    free(numbers);
    REQUIRE((j = open_at(released, &s, &why)));
    CHECK(s.good && s.first == 1001 && s.last == 1005);
    journal_close(j);
    CHECK(!open_at(start, &s, &why));
    CHECK(strstr(why, "restore") != NULL);
    free(why);
}

static size_t count_segments(void)
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    CHECK_EQ_INT(segments_list(disk_real(), directory, false, &numbers, &count), 0);
    free(numbers);
    return count;
}

/* What else the start writes must find room on a small disk: the next segment waits for a group. */
static void opening_makes_no_segment_ahead(void)
{
    struct seen s;
    char *why = NULL;
    struct journal_options o = {.disk = disk_real(),
                                .id = 7,
                                .directory = directory,
                                .segment_bytes = SEGMENT_BYTES,
                                .single_threaded = true};
    for (uint64_t i = 1; i <= 2; i++) {
        s = (struct seen){.good = true};
        struct journal *j = journal_open(&o, start, see, &s, &why);
        REQUIRE(j);
        CHECK_EQ_UINT(count_segments(), i);
        commit(j, i, SEGMENT_BYTES - 2 * JOURNAL_BLOCK_BYTES);
        CHECK_EQ_UINT(count_segments(), i + 1);
        CHECK(journal_ready(j, SEGMENT_BYTES / 2));
        journal_close(j);
    }
    char *ahead = segment_path(directory, 3);
    CHECK_EQ_INT(unlink(ahead), 0);
    free(ahead);
    struct journal *j = journal_open(&o, start, see, &s, &why);
    REQUIRE(j);
    CHECK_EQ_UINT(count_segments(), 2);
    journal_close(j);
}

static void a_large_group_gets_its_own_segment(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 10);
    CHECK(journal_ready(j, 10));
    commit(j, 2, 10 * SEGMENT_BYTES);
    CHECK_EQ_UINT(journal_live_bytes(j), 11 * SEGMENT_BYTES + 2 * JOURNAL_BLOCK_BYTES);
    commit(j, 3, SEGMENT_BYTES - JOURNAL_BLOCK_BYTES - FRAME_HEAD_BYTES);
    struct journal_position end = commit(j, 4, 10);
    CHECK_EQ_UINT(end.segment, 4);
    journal_close(j);
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK(s.good && s.count == 4);
    journal_release(j, end);
    CHECK_EQ_UINT(journal_live_bytes(j), SEGMENT_BYTES);
    journal_close(j);
}

/* Writes over the bytes of one segment behind the journal's back. */
static void scribble(uint64_t segment, uint64_t offset, const char *with, size_t n)
{
    char *path = segment_path(directory, segment);
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, with, n, (off_t)offset) == (ssize_t)n);
    close(fd);
    free(path);
}

static void check_refused(struct journal_position from, const char *says)
{
    struct seen s;
    char *why = NULL;
    CHECK(!open_at(from, &s, &why));
    CHECK(why && strstr(why, says) != NULL);
    if (why && !strstr(why, says))
        printf("it says: %s\n", why);
    free(why);
}

static void check_dropped(struct journal *j, struct journal_position from, uint64_t bytes)
{
    struct journal_dropped dropped = journal_dropped(j);
    CHECK_EQ_UINT(dropped.bytes, bytes);
    if (bytes) {
        CHECK_EQ_UINT(dropped.from.segment, from.segment);
        CHECK_EQ_UINT(dropped.from.offset_bytes, from.offset_bytes);
    }
}

static void a_torn_last_group_is_dropped(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 5000);
    struct journal_position two = commit(j, 2, 5000);
    struct journal_position three = commit(j, 3, 5000);
    journal_close(j);
    scribble(1, two.offset_bytes + 4096, "x", 1); /* inside group 3 */
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK(s.good && s.last == 2);
    check_dropped(j, two, three.offset_bytes - two.offset_bytes);
    struct journal_position again = commit(j, 3, 4000);
    CHECK(again.offset_bytes < three.offset_bytes);
    journal_close(j);
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK(s.good && s.last == 3);
    check_dropped(j, again, 0);
    journal_close(j);
}

static bool go_on(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    return true;
}

static bool never_waits(void *context, int error)
{
    (void)context;
    (void)error;
    return false;
}

static void count_damage(void *context, const char *path, uint64_t offset, const char *why)
{
    printf("%s at %" PRIu64 ": %s\n", path, offset, why);
    ++*(int *)context;
}

static void check_damaged(struct journal *j, int places)
{
    int found = 0;
    CHECK(journal_check(&(struct journal_check){j, go_on, count_damage, never_waits, &found}));
    CHECK_EQ_INT(found, places);
}

/* The group behind a torn one has no room left in its segment: what is torn stays there. */
static void a_torn_group_in_a_closed_segment_is_no_damage(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 5000);
    struct journal_position two = commit(j, 2, 5000), three = commit(j, 3, 9000);
    CHECK_EQ_UINT(three.segment, 1);
    journal_close(j);
    scribble(1, two.offset_bytes + 4096, "x", 1);
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK_EQ_UINT(s.last, 2);
    check_damaged(j, 0);
    CHECK_EQ_UINT(commit(j, 3, SEGMENT_BYTES - 12288).segment, 2);
    check_damaged(j, 0);
    scribble(1, two.offset_bytes - 4096, "x", 1); /* inside group 2 */
    check_damaged(j, 1);
    journal_close(j);
}

static void a_torn_group_at_the_head_of_a_segment_is_told(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 5000);
    struct journal_position two = commit(j, 2, SEGMENT_BYTES - 12288);
    CHECK_EQ_UINT(two.segment, 2);
    journal_close(j);
    scribble(2, JOURNAL_BLOCK_BYTES + 8192, "x", 1);
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK(s.good && s.last == 1);
    check_dropped(j, (struct journal_position){2, JOURNAL_BLOCK_BYTES},
                  two.offset_bytes - JOURNAL_BLOCK_BYTES);
    journal_close(j);
}

/* A group is written only after the one before it was synced: whatever of it can be recognised
 * proves that the one before was durable. */
static void damage_before_a_torn_group_is_refused(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    struct journal_position one = commit(j, 1, 5000);
    struct journal_position two = commit(j, 2, 5000);
    commit(j, 3, 5000);
    journal_close(j);
    scribble(1, two.offset_bytes + 4096, "x", 1);
    scribble(1, one.offset_bytes + 4096, "x", 1);
    char says[64];
    snprintf(says, sizeof says, "is damaged at byte %llu", (unsigned long long)one.offset_bytes);
    check_refused(start, says);
}

static void damage_in_the_middle_is_refused(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    struct journal_position one = commit(j, 1, 100), last = {0};
    for (uint64_t i = 2; i <= 40; i++)
        last = commit(j, i, 9000);
    journal_close(j);
    scribble(1, one.offset_bytes + FRAME_HEAD_BYTES, "x", 1);
    check_refused(start, "is damaged at byte 8192");
    scribble(1, one.offset_bytes, "junk", 4);
    check_refused(start, "is damaged at byte 8192");
    scribble(2, 0, "junk", 4);
    check_refused(start, "the head of journal segment 2");
    char *path = segment_path(directory, 3);
    unlink(path);
    free(path);
    check_refused(start, "segment 3 is missing");
    check_refused((struct journal_position){last.segment, last.offset_bytes - 4096},
                  "inside a group");
    check_refused((struct journal_position){last.segment, last.offset_bytes + 4096},
                  "restore both");
    check_refused((struct journal_position){99, 4096}, "put the journal's files back");
}

static void what_is_before_the_position_is_not_read(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 5000);
    struct journal_position two = commit(j, 2, 5000);
    commit(j, 3, 5000);
    commit(j, 4, 3 * SEGMENT_BYTES);
    struct journal_position end = commit(j, 5, 10);
    journal_close(j);
    scribble(1, JOURNAL_BLOCK_BYTES, "x", 1);
    REQUIRE((j = open_at(two, &s, &why)));
    CHECK(s.good && s.first == 3 && s.last == 5);
    CHECK(s.end.segment == end.segment && s.end.offset_bytes == end.offset_bytes);
    commit(j, 6, 10);
    journal_close(j);
    REQUIRE((j = open_at(two, &s, &why)));
    CHECK(s.good && s.first == 3 && s.last == 6);
    journal_close(j);
    check_refused(start, "is damaged at byte 4096");
    /* No group stands there any more, so it may not be the position of this journal. */
    scribble(1, two.offset_bytes, "x", 1);
    check_refused(two, "is damaged at byte 4096");
}

static bool see_three(void *context, struct str records, struct journal_position end)
{
    (void)records, (void)end;
    return ++*(int *)context <= 3;
}

static void what_cannot_be_replayed_ends_the_opening(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    for (uint64_t i = 1; i <= 40; i++) /* more than wait between reading and visiting */
        commit(j, i, 9000);
    journal_close(j);
    int visited = 0;
    struct journal_options o = {
        .disk = disk_real(), .id = 7, .directory = directory, .segment_bytes = SEGMENT_BYTES};
    CHECK(!journal_open(&o, start, see_three, &visited, &why));
    CHECK_EQ_INT(visited, 4);
    CHECK(why && strstr(why, "cannot be replayed"));
    free(why);
    why = NULL;
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK(s.good && s.count == 40);
    journal_close(j);
}

/* Texts come from outside: bytes that look like a frame inside a torn group are no frame. */
static void forged_frames_are_not_taken(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 100);
    char *group = xcalloc(1, 3 * JOURNAL_BLOCK_BYTES);
    char *forged = group + JOURNAL_BLOCK_BYTES - FRAME_HEAD_BYTES;
    frame_seal(forged, &(struct frame_head){.journal_id = 42,
                                            .segment = 1,
                                            .sequence = 3,
                                            .offset = 3 * JOURNAL_BLOCK_BYTES,
                                            .length = 4});
    struct journal_position end;
    CHECK(journal_commit(j, (struct str){group, 3 * JOURNAL_BLOCK_BYTES}, &end));
    free(group);
    journal_close(j);
    scribble(1, 2 * JOURNAL_BLOCK_BYTES, "x", 1);
    REQUIRE((j = open_at(start, &s, &why)));
    CHECK_EQ_UINT(s.count, 1);
    journal_close(j);
}

static struct segment_head head_of(uint64_t segment)
{
    static char block[JOURNAL_BLOCK_BYTES];
    struct segment_head head = {0};
    char *path = segment_path(directory, segment);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && pread(fd, block, sizeof block, 0) == (ssize_t)sizeof block);
    CHECK(segment_head_read(block, &head));
    close(fd);
    free(path);
    return head;
}

/* A whole frame that stands where the next group would, and is of another journal, segment, turn or
 * place: what a file that is used again, or was copied, may hold. */
static void whole_frames_of_elsewhere_are_not_taken(void)
{
    struct seen s;
    char *why = NULL;
    struct journal *j = open_at(start, &s, &why);
    REQUIRE(j);
    commit(j, 1, 100);
    journal_close(j);
    const struct frame_head next = {
        .journal_id = head_of(1).journal_id,
        .segment = 1,
        .sequence = 2,
        .offset = 2 * JOURNAL_BLOCK_BYTES,
        .length = 4,
    };
    struct frame_head others[] = {next, next, next, next};
    others[0].journal_id++;
    others[1].segment = 2;
    others[2].sequence = 1;
    others[3].offset = JOURNAL_BLOCK_BYTES;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        char frame[JOURNAL_BLOCK_BYTES] = {0};
        frame_seal(frame, &others[i]);
        scribble(1, next.offset, frame, sizeof frame);
        REQUIRE((j = open_at(start, &s, &why)));
        CHECK(s.good && s.count == 1);
        journal_close(j);
    }
}

static void in_a_directory(void (*test)(void), const char *name)
{
    fresh_directory();
    check_run(test, name);
    remove_directory();
}
static struct journal *looked_at; /* NULL: no look is under way */
static struct journal_position look_releases;

/* While its files are looked for, another thread releases them all but the last one. */
static int open_after_release(struct disk *disk, const char *path, bool create, bool direct)
{
    (void)disk;
    if (looked_at) {
        journal_release(looked_at, look_releases);
        return -ENOENT;
    }
    return disk_real()->open(disk_real(), path, create, direct);
}

static void a_look_for_files_holds_up_no_release(void)
{
    struct disk disk = *disk_real();
    struct seen s = {.good = true};
    char *why = NULL;
    struct journal_options o = {
        .disk = &disk, .id = 7, .directory = directory, .segment_bytes = SEGMENT_BYTES};
    struct journal *j = journal_open(&o, start, see, &s, &why);
    REQUIRE(j);
    struct journal_position end = {0};
    for (uint64_t i = 1; end.segment < 3; i++)
        end = commit(j, i, 20000);
    CHECK(journal_has_its_files(j));
    char *path = segment_path(directory, 2), *aside = segment_path(directory, 99);
    CHECK_EQ_INT(rename(path, aside), 0);
    CHECK(!journal_has_its_files(j));
    CHECK_EQ_INT(rename(aside, path), 0);
    free(path);
    free(aside);
    disk.open = open_after_release;
    looked_at = j;
    look_releases = (struct journal_position){end.segment, 0};
    CHECK(!journal_has_its_files(j)); /* the last one is missed: it is not released */
    looked_at = NULL;
    CHECK_EQ_UINT(journal_live_bytes(j), SEGMENT_BYTES);
    disk.open = disk_real()->open;
    CHECK(journal_has_its_files(j));
    journal_close(j);
}

#define RUN_IN_DIRECTORY(test) in_a_directory(test, #test)

int main(void)
{
    RUN_IN_DIRECTORY(groups_come_back_in_order);
    RUN_IN_DIRECTORY(released_segments_are_used_again);
    RUN_IN_DIRECTORY(a_look_for_files_holds_up_no_release);
    RUN_IN_DIRECTORY(opening_makes_no_segment_ahead);
    RUN_IN_DIRECTORY(a_large_group_gets_its_own_segment);
    RUN_IN_DIRECTORY(a_torn_last_group_is_dropped);
    RUN_IN_DIRECTORY(a_torn_group_in_a_closed_segment_is_no_damage);
    RUN_IN_DIRECTORY(a_torn_group_at_the_head_of_a_segment_is_told);
    RUN_IN_DIRECTORY(damage_before_a_torn_group_is_refused);
    RUN_IN_DIRECTORY(damage_in_the_middle_is_refused);
    RUN_IN_DIRECTORY(what_is_before_the_position_is_not_read);
    RUN_IN_DIRECTORY(what_cannot_be_replayed_ends_the_opening);
    RUN_IN_DIRECTORY(forged_frames_are_not_taken);
    RUN_IN_DIRECTORY(whole_frames_of_elsewhere_are_not_taken);
    return check_done("journal");
}
