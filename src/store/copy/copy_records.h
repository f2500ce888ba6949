/* The contents of a store in a form of its own, in one order:
 *
 *   objects   by kind, then id (bytes)
 *   events    by period of acceptance, account, event number; each with its attempts by number and
 *             time. The period is that of PostgreSQL's partitions (30 days; an account's never goes
 *             back), so that events with the same retention lie together in the target, too.
 *   reports   by account, day, client
 *   books     by account, day, app, lane, tests, state
 *
 * The target derives everything else: waiting callbacks by lane, reversals, payments of the cap,
 * sets of active panelists, totals. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "domain/schedule.h"
#include "store/books.h"
#include "store/report_sums.h"

enum copy_section { COPY_OBJECTS = 1, COPY_EVENTS, COPY_REPORTS, COPY_BOOKS, COPY_SECTION_END };

struct copied_object {
    enum object_kind kind;
    struct str id, document;
};

struct copied_event {
    struct event event; /* whole, with key and content; its body if it is kept */
    struct callback_life life;
    int32_t period;
    bool erased;
    /* The last day on which a callback that lies with this one became final late; 0: none. Bodies
     * are kept by it (domain/retention.h). How rows lie together differs between stores, so it is
     * not compared. */
    int32_t final_late_day;
    unsigned counted; /* bits: 1 counted in the total of delivered callbacks, 2 of dead ones */
    struct attempt *log;
    size_t log_count;
};

struct copied_report {
    uint32_t account_no, client_no;
    int32_t day;
    struct report_sums sums;
};

struct copied_book {
    struct book_key key;
    int state;
    struct statement_sums sums;
};

/* A position after a row, or (all zero but the section) before a section's first row. */
#define COPY_POSITION_ID_BYTES 512
struct copy_position {
    enum copy_section section;
    int64_t n[6]; /* the values that order the section */
    size_t id_bytes;
    char id[COPY_POSITION_ID_BYTES]; /* of an object */
};

/* Some rows of one section, and the position after them. */
struct copy_chunk {
    struct arena arena; /* owns all of it */
    enum copy_section section;
    size_t count; /* 0: the section is over */
    struct copied_object *objects;
    struct copied_event *events;
    struct copied_report *reports;
    struct copied_book *books;
    struct copy_position end;
};

void copy_chunk_begin(struct copy_chunk *c, const struct copy_position *at); /* empties the chunk */
/* Sets the end from the last row. */
void copy_chunk_end(struct copy_chunk *c, const struct copy_position *at);

/* Sorts the attempts by number and time. */
void copied_event_sort_log(struct copied_event *e);

/* One row as bytes, for comparison and digest: numbers of 8 bytes, big-endian (sums of money 16),
 * texts after their length, absent texts as a length of all ones. */
void copy_encode(const struct copy_chunk *c, size_t row, struct buf *to);
/* Names the row for a person: "event e-17 of account 3". */
void copy_name_row(const struct copy_chunk *c, size_t row, struct buf *to);

/* A position as text, for a target that stores it. */
void copy_position_print(const struct copy_position *at, struct buf *to);
MUST_CHECK bool copy_position_parse(struct str text, struct copy_position *ret);
