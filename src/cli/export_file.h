/* The file or the S3 object (cli/export_s3.h) of an export.
 *
 * A file is NAME.part while it grows, and beside it NAME.part.state, which says how
 * many bytes are whole rows and where to read on. A run that was killed is continued by the same
 * command; at the end NAME.part becomes NAME. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* Where to read on. */
struct export_place {
    struct buf partner;        /* empty: the next one is yet to be asked for */
    struct buf partners_after; /* the cursor behind it; empty: it is the last */
    struct buf after;          /* in the feed of its day; empty: from the beginning */
    int32_t day;
    int64_t rows; /* written so far */
};

void export_place_free(struct export_place *place);

struct export_s3;

struct export_file {
    const char *name;     /* NULL: standard output, which nothing continues */
    struct export_s3 *s3; /* NULL: it is a file */
    struct str identity;
    struct buf part, state;
    int fd;
    int64_t bytes;
};

/* identity: what is exported; the state of another export is refused. Fills *place where an earlier
 * run is continued. Functions that return false have said why. */
MUST_CHECK bool export_file_open(struct export_file *f, const char *name, struct str identity,
                                 struct export_place *place);
/* Whole rows, and the place behind them; durable when it returns. place NULL: there is none, so a
 * run that is continued writes these rows again. */
MUST_CHECK bool export_file_add(struct export_file *f, struct str rows,
                                const struct export_place *place);
MUST_CHECK bool export_file_end(struct export_file *f);
void export_file_close(struct export_file *f);
