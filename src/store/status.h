/* What became of a request to a store. */
#pragma once

enum store_status {
    STORE_OK,
    STORE_BUSY,      /* bounds are full: try later */
    STORE_FAILED,    /* stopped: the disk refused a write or a sync */
    STORE_REFUSED,   /* the database refuses just this: nothing of it is stored */
    STORE_NOT_FOUND, /* reads of one thing, changes of one thing */
    STORE_PURGED,    /* resends: retention has deleted the body that was to be sent */
    STORE_ERASED,    /* resends: the body was deleted with its panelist */
    STORE_PARTLY, /* events of several clusters: some have theirs, others refused it to the end */
    STORE_STALE,  /* judged by what another process has changed meanwhile: see object_feed */
};
