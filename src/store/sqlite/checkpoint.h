/* Checkpoints of the WAL: the one place where database pages are made durable. */
#pragma once

#include "store/sqlite/sql.h"

enum checkpoint_result {
    CHECKPOINT_COMPLETE, /* all that was committed is in the database file, synced */
    CHECKPOINT_PARTIAL,  /* a reader, another process or a full disk is in its way: try again */
    CHECKPOINT_FAILED, /* a write or a sync failed: the connection has failed, the store must end */
};

/* `truncate`: waits for readers and empties the WAL. Of one connection only, which is also the only
 * one that writes, and between its transactions. */
MUST_CHECK enum checkpoint_result checkpoint_run(struct sql *q, bool truncate);
