/* Checkpoints of the WAL: the only place where database pages are made durable. */
#pragma once

#include "store/sqlite/sql.h"

enum checkpoint_result {
    CHECKPOINT_COMPLETE, /* everything committed is in the database file, synced */
    CHECKPOINT_PARTIAL,  /* a reader, another process or a full disk is in the way: try again */
    CHECKPOINT_FAILED, /* a write or a sync failed: the connection has failed, the store must end */
};

/* `truncate`: waits for readers and empties the WAL. Called between transactions, on the only
 * connection that writes. */
MUST_CHECK enum checkpoint_result checkpoint_run(struct sql *q, bool truncate);
