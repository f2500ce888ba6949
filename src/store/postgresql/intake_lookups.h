/* What the decision on a group of events needs from the database. */
#pragma once

#include "store/postgresql/pg_intake.h"

/* Puts the statements of the first trip into the pipeline, and reads their results. */
void pg_intake_ask(struct pg_intake *in);
void pg_intake_read(struct pg_intake *in);
/* Fetches the originals of reversals and locks them, so that the decision stays true. Makes more
 * trips if there are any. */
MUST_CHECK enum pg_fate pg_intake_fetch_originals(struct pg_intake *in);
