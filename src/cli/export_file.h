/* The file or the S3 object (cli/export_s3.h) of an export.
 *
 * A file under construction is NAME.part; NAME.part.state beside it says how many bytes are whole
 * rows, and where to continue reading. The same command continues a killed run; at the end
 * NAME.part becomes NAME. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* Where to continue reading. */
struct export_place {
    struct buf partner;        /* empty: ask for the next one */
    struct buf partners_after; /* the cursor after it; empty: it is the last */
    struct buf after;          /* in the feed of its day; empty: from the beginning */
    int32_t day;
    int64_t rows; /* written so far */
};

void export_place_free(struct export_place *place);

struct export_s3;

struct export_file {
    const char *name;     /* NULL: standard output, which cannot be continued */
    struct export_s3 *s3; /* NULL: a file */
    struct str identity;
    struct buf part, state;
    int fd;
    int64_t bytes;
};

/* identity: describes the export; the state of another export is refused. Sets *place if an earlier
 * run is continued. Functions that return false have printed why. */
MUST_CHECK bool export_file_open(struct export_file *f, const char *name, struct str identity,
                                 struct export_place *place);
/* Adds whole rows, and the place after them; durable when it returns. place NULL: unknown, so a
 * continued run writes these rows again. */
MUST_CHECK bool export_file_add(struct export_file *f, struct str rows,
                                const struct export_place *place);
MUST_CHECK bool export_file_end(struct export_file *f);
void export_file_close(struct export_file *f);
