/* The result of a request to a store. */
#pragma once

enum store_status {
    STORE_OK,
    STORE_BUSY,      /* a bound is reached: try again later */
    STORE_FAILED,    /* the store has stopped: the disk refused a write or a sync */
    STORE_REFUSED,   /* the database refuses this one request: nothing of it is stored */
    STORE_NOT_FOUND, /* reads and changes of one object: it does not exist */
    STORE_PURGED,    /* resends: retention has deleted the callback's body */
    STORE_ERASED,    /* resends: the body was erased with its panelist */
    /* lists: the position belongs to an event that is lost since an older backup was restored
     * (callback_list.after_accepted_ms) */
    STORE_FOREIGN,
    /* events of several clusters: some clusters recorded theirs, others refused them for good */
    STORE_PARTLY,
    /* the change was decided by objects that another process has changed since: see object_feed */
    STORE_STALE,
};
