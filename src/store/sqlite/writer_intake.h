/* What the writer decides and records. On its thread. */
#pragma once

#include "store/sqlite/sqlite_store.h"

/* Decides the batch's items from r->decided on. True: all are decided; false: the group is
 * full. */
MUST_CHECK bool writer_intake(struct sqlite_store *s, struct request *r);
/* True if the journal has room, without waiting, for the part of the batch that goes into this
 * group. */
bool writer_intake_ready(struct sqlite_store *s, const struct request *r);
/* An upper bound of the bytes of its records; 0: neither outcomes nor a change. */
size_t writer_change_bytes_most(const struct request *r);
void writer_outcomes(struct sqlite_store *s, struct outcome_batch *batch);
void writer_object(struct sqlite_store *s, struct object_change *change);
void writer_resend(struct sqlite_store *s, struct resend *resend);
void writer_erase(struct sqlite_store *s, struct erase *erase);
