/* Every bound of the daemon, with its unit and the effect of reaching it. */
#pragma once

#include "base/env.h"

/* The wall clock. Beyond these bounds a start is refused, and a running process sees the bound
 * itself. The thousand years up to 9999 are left for future times, which are printed with a
 * four-digit year. */
#define LIMIT_WALL_LEAST_MS 1000 /* 1970-01-01, but not 0, which often means "none" */
#define LIMIT_WALL_MOST_MS INT64_C(221845392000000) /* 9000-01-01 */

/* Taking in (contract, section 3): 413 beyond. */
#define LIMIT_EVENTS_PER_REQUEST 10000
#define LIMIT_REQUEST_BODY_BYTES (8 << 20)
#define LIMIT_JSON_DEPTH 16
#define LIMIT_JSON_DEPTH_OF_ANSWER 128 /* of receivers' answers, kept up to 4 KiB */
#define LIMIT_JSON_VALUES 320000       /* twice the values of 10,000 events: 400 beyond */

/* Fields of events: `out_of_range` or `invalid` beyond. */
#define LIMIT_ID_BYTES 64
#define LIMIT_EVENT_ID_BYTES 128
#define LIMIT_PANELIST_ID_BYTES 256
#define LIMIT_TEXT_BYTES 1024 /* SessionId, Mid, OfferTitle, OfferGoalId, Reason */
#define LIMIT_EVENT_AGE_DAYS 90
#define LIMIT_EVENT_FUTURE_MS (5 * MINUTE_MS)

/* Problems listed for one input; further ones are counted. The second bound is for all events of a
 * request together; beyond it, each event lists one problem. */
#define LIMIT_PROBLEMS 20
#define LIMIT_PROBLEMS_OF_REQUEST 2000
#define LIMIT_PROBLEM_TEXT_BYTES 1024 /* of a problem's field, and of its detail: cut */

/* HTTP in: 431 / 414 / 408 / 503 beyond. */
#define LIMIT_HEADER_BYTES 16384
#define LIMIT_HEADERS 100
#define LIMIT_TARGET_BYTES 8192
/* Connections, per loop. If an address (of IPv6: a /48) has more than its share, its connection
 * that has waited longest for its client is closed; if none waits, the new one is answered 503.
 * When only a sixteenth of the places is free, connections that wait for their clients are closed
 * (http/room.c). A connection that gets one of these last places is answered 503, unless it has a
 * valid key or session or asks for a probe. */
#define LIMIT_CONNECTIONS_PER_LOOP 8192
#define LIMIT_CONNECTIONS_REFUSED_PER_LOOP 64 /* more connections, while they are answered 503 */
#define LIMIT_CONNECTIONS_PER_ADDRESS (LIMIT_CONNECTIONS_PER_LOOP / 4)
/* Bodies of requests: 413 beyond. For events: LIMIT_REQUEST_BODY_BYTES. */
#define LIMIT_PUBLIC_BODY_BYTES (16 << 10) /* without a key or session: signing in, links */
#define LIMIT_CHANGE_BODY_BYTES (1 << 20)
/* Buffers of requests and answers of all loops; each loop gets an equal part, but at least room for
 * two bodies of events. A body over LIMIT_SMALL_BODY_BYTES is read only if all of it fits into
 * three quarters of the part; one account, or one stranger's address, may use half of those.
 * Otherwise its connection waits at most LIMIT_HEADER_DEADLINE_MS, then 503. Small bodies of an
 * account beyond its half may use an eighth of the part. Strangers are answered 503 while the part
 * is full. */
#define LIMIT_REQUEST_BUFFERS_BYTES (64 << 20)
#define LIMIT_SMALL_BODY_BYTES (64 << 10)
/* A large body is one that takes several reads. Each loop reads and handles this many at a time;
 * the others wait in their clients' sockets (http/turns.c). While delivery is behind, a tick reads
 * only LIMIT_BODY_TICK_BEHIND_BYTES of each: events that arrive faster than their callbacks are
 * sent cost more and fill the memory. */
#define LIMIT_LARGE_BODY_BYTES (256 << 10)
#define LIMIT_LARGE_BODIES 4
#define LIMIT_BODY_TICK_BEHIND_BYTES 4096
/* After an answer that closes the connection, this much more of the client's data is read and
 * dropped, so that the client can read the answer. Then the connection is closed with a reset. */
#define LIMIT_LINGER_BYTES (64 << 10)
#define LIMIT_LINGER_KNOWN_BYTES (2 * LIMIT_REQUEST_BODY_BYTES) /* with a key or session */
#define LIMIT_LINGER_MS 2000
#define LIMIT_HEADER_DEADLINE_MS 10000
#define LIMIT_REQUEST_DEADLINE_MS MINUTE_MS
/* Time until an answer begins: 503 beyond. The longer one is for routes that read much or wait for
 * receivers; clients often give up after 60 s. */
#define LIMIT_ANSWER_DEADLINE_MS 35000
#define LIMIT_LONG_ANSWER_DEADLINE_MS 55000
#define LIMIT_IDLE_CONNECTION_MS 75000
/* A request or an answer stalls if its client does nothing for this time. A stalled connection is
 * closed if a body waits for room; a known client's also if places or buffers are short. Strangers'
 * connections are then closed without a delay, the longest waiting first; so are those of an
 * account beyond its share, which is as large as an address's. */
#define LIMIT_STALL_MS 1000
#define LIMIT_STALL_KNOWN_MS 5000
/* How long an answer over HTTP/2 waits for more of the client's window. */
#define LIMIT_WINDOW_WAIT_MS 200
/* HTTP/2. A stream counts as a connection, too. Bodies that wait for room take at most the windows
 * of their stream and connection. Frames cost credit, which answers give back: without credit the
 * connection is closed (http/http2.c). */
#define LIMIT_HTTP2_STREAMS 100 /* of a connection, at once */
#define LIMIT_HTTP2_WINDOW_BYTES (256 << 10)
#define LIMIT_HTTP2_UNSENT_BYTES                                                                   \
    (4 << 20) /* of a connection's answers: no further stream begins                               \
               */
#define LIMIT_HTTP2_CREDIT 1000
/* In both directions: WINDOW_UPDATE frames that a DATA frame of ours may cause without a cost. One
 * for the stream, one for the connection, and more for a peer that enlarges its window in small
 * steps. */
#define LIMIT_HTTP2_WINDOW_UPDATES(data_bytes) (2 + (int64_t)(data_bytes) / 64)
#define LIMIT_ACCESS_LOG_BYTES (1 << 20) /* of unwritten lines: further ones are lost */

/* Older secrets that are still live after rotations, of an app or of a partner's messages: 409
 * beyond. */
#define LIMIT_OLDER_SECRETS 4

/* What one account may ask for with all its keys and people (services/account_limits.c): at once,
 * and in a minute. 429 with Retry-After beyond. For operators only the limits of recoveries
 * hold. */
#define LIMIT_ACCOUNT_READS_OF_KEYS 5 /* times --reads-per-minute */
#define LIMIT_ACCOUNT_SCANS_AT_ONCE 12
#define LIMIT_ACCOUNT_WRITES_AT_ONCE 16
#define LIMIT_ACCOUNT_WRITES_PER_MINUTE 600
/* Requests that write an entry of the audit log, which is kept for ever: changes, tests, recoveries
 * and shown secrets together. */
#define LIMIT_ACCOUNT_AUDITED_PER_DAY 10000
#define LIMIT_ACCOUNT_TESTS_AT_ONCE 4
#define LIMIT_ACCOUNT_TESTS_PER_MINUTE 60
#define LIMIT_ACCOUNT_RECOVERIES_AT_ONCE                                                           \
    1 /* being started, so that running ones are counted exactly */
#define LIMIT_ACCOUNT_RECOVERIES_PER_MINUTE 60
/* Existing ones, disabled or not: 409 beyond. All of them are in memory. */
#define LIMIT_ACCOUNT_KEYS 100
#define LIMIT_ACCOUNT_APPS 5000
#define LIMIT_ACCOUNT_CLIENTS 20000 /* of all its apps */
#define LIMIT_ACCOUNT_PEOPLE 1000   /* also of the operator's own */
/* Remembered Idempotency-Keys of one key or person, and of one account: the oldest is forgotten. */
#define LIMIT_IDEMPOTENCY_KEYS 1000
#define LIMIT_ACCOUNT_IDEMPOTENCY_KEYS 2000

/* The store: beyond, ingest answers 429 or 503 with Retry-After. */
/* Bytes of requests that wait in memory; a single request may be larger. */
#define LIMIT_STORE_QUEUED_BYTES (12 << 20)
/* The journal's record of one event at most, however small its request: a reversal of 90 bytes
 * copies four texts from its original and prints them again, escaped, in its body. */
#define LIMIT_EVENT_RECORD_BYTES (32 << 10)
/* A group of this size is made durable; a larger request continues in the next group, and is
 * answered when its last group is durable. */
#define LIMIT_GROUP_BYTES (4 << 20)
#define LIMIT_MEMTABLE_EVENTS 65536
#define LIMIT_MEMTABLE_BYTES (16 << 20) /* there are two: intake waits for the applier beyond */
#define LIMIT_APPLY_INTERVAL_MS 1000
#define LIMIT_APPLY_INTERVAL_BUSY_MS 4000 /* if an eighth of a memtable is full, */
#define LIMIT_APPLY_QUIET_MS 200          /* or nothing came for this time */
#define LIMIT_JOURNAL_SEGMENT_BYTES (64 << 20)
#define LIMIT_JOURNAL_BYTES (INT64_C(4) << 30) /* not yet applied to the database file */
#define LIMIT_CALLBACKS_WAITING 100000000
#define LIMIT_KEYS_PER_SEGMENT (1 << 20)

/* Delivery: beyond, a callback stays in the store and is paged in later. */
#define LIMIT_OUTCOMES_UNRECORDED_BYTES                                                            \
    (8 << 20) /* of all loops: no attempt starts, no page is read */
#define LIMIT_LANE_CALLBACKS_IN_RAM 1024
#define LIMIT_CALLBACKS_IN_RAM 65536
#define LIMIT_CALLBACKS_IN_RAM_BYTES (14 << 20)
#define LIMIT_CALLBACKS_HANDED_BYTES (6 << 20) /* on their way from the store to their loops */
#define LIMIT_PAGE_CALLBACKS 256
/* A loop is behind while it has more callbacks to start than a tick allows, and more new ones in
 * memory than this: then it reads bodies more slowly (LIMIT_BODY_TICK_BEHIND_BYTES). */
#define LIMIT_FRESH_IN_TIME 2000
#define LIMIT_ATTEMPT_BODY_KEPT_BYTES 4096
#define LIMIT_ATTEMPT_BODY_DRAINED_BYTES 65536
#define LIMIT_ATTEMPT_BODY_WAIT_MS 1000 /* for a body that is only logged */
#define LIMIT_DESTINATION_SLOW_BODIES                                                              \
    4 /* still read after their attempts have ended; others are not */
#define LIMIT_ATTEMPT_HEADER_BYTES 32768
#define LIMIT_ATTEMPT_HEADERS_KEPT_BYTES 4096 /* of them in the log, in whole lines */
#define LIMIT_URL_BYTES 2048
#define LIMIT_SUCCESS_TEXT_BYTES 1024 /* of an app's SuccessAnswer */
#define LIMIT_SUCCESS_FIELD_BYTES 256
#define LIMIT_URL_MACROS 32        /* of one callback URL */
#define LIMIT_URL_SENT_BYTES 16384 /* with its macros replaced, at most */

/* File descriptors besides a loop's connections: for the store, Kafka, mail, and webhooks to
 * operators. If RLIMIT_NOFILE is lower than all bounds need, the connections share the rest
 * (daemon/descriptors.c). */
#define LIMIT_DESCRIPTORS_OF_THE_STORE 512

/* Outgoing connections per loop. Beyond, idle ones are closed first, then those that only read the
 * rest of a body; then an attempt waits. */
#define LIMIT_CONNECTIONS_OUT_PER_LOOP 6144
/* As many as exchanges. With fewer, a destination of many lanes would close its connections after
 * each burst and open them again at the next. Unneeded ones end by their age. */
#define LIMIT_IDLE_CONNECTIONS_PER_DESTINATION LIMIT_EXCHANGES_PER_LOOP
#define LIMIT_IDLE_CONNECTION_OUT_MS 30000
#define LIMIT_EXCHANGES_PER_LOOP 4096

/* Sending. Beyond, the entry that was unused for the longest time is forgotten (names, sessions) or
 * closed (idle connections); an answer beyond is class `protocol`. */
#define LIMIT_DNS_NAMES 4096
#define LIMIT_DNS_ADDRESSES 16
#define LIMIT_DIAL_ADDRESSES 8 /* tried for one connection */
#define LIMIT_TLS_SESSIONS 1024
#define LIMIT_TLS_SESSION_MS HOUR_MS            /* afterwards the certificate is verified again */
#define LIMIT_CONNECTION_AGE_MS (5 * MINUTE_MS) /* so that a changed DNS name is followed */
#define LIMIT_INTERIM_ANSWERS 16                /* 1xx before the final one */
/* HTTP/2, between two answers; beyond, the connection is closed: class `protocol`. */
#define LIMIT_HTTP2_FRAMES_IDLE 500
#define LIMIT_HTTP2_BYTES_IDLE (256 << 10) /* without bodies */
#define LIMIT_JOIN_MS                                                                              \
    1000 /* to wait for a connection that another exchange opens; then its own is opened */
#define LIMIT_CERTIFICATE_WARNING_MS (14 * DAY_MS) /* time left when warnings begin */
