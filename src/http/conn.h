/* One incoming connection, inside http/. The phases and what moves between them:
 *
 *   TLS       handshake done -> IDLE
 *   STREAMS   HTTP/2: the last stream ended -> IDLE; the session is over -> FLUSHING
 *   IDLE      first byte -> HEAD; HTTP/2, a stream begins -> STREAMS; idle deadline -> closed
 *   HEAD      head whole, body not -> BODY, or ROOM; both whole -> HANDLING; deadline -> 408,
 *             FLUSHING
 *   ROOM      the body has room in the buffers -> BODY; deadline -> 503, FLUSHING
 *   BODY      body whole -> HANDLING; deadline -> 408, FLUSHING
 *   HANDLING  deadline (http_respond_by) -> 503 in `out`, still HANDLING
 *             answered -> IDLE, or FLUSHING when the connection is to close
 *   FLUSHING  all written -> LINGER when the client may still be sending, else closed
 *   LINGER    reads and drops until the client's end, a number of bytes or a deadline -> closed
 *
 * A stream of HTTP/2 is one of these too, without a socket: it begins at HEAD, has one request, and
 * is closed when its answer is sent (http/http2.c).
 *
 * A request refused at any point goes to FLUSHING. A connection that is lost while HANDLING stays
 * in memory, closed, until the handler has answered. */
#pragma once

#include "base/limits.h"
#include "http/chunked.h"
#include "http/head.h"
#include "http/peers.h"
#include "http/server.h"
#include "net/socket.h"
#include "net/stream.h"

#define CONN_MAGIC 0xC0111EC7u
#define REQUEST_ID_BYTES 64

enum conn_phase {
    CONN_TLS,
    CONN_STREAMS,
    CONN_IDLE,
    CONN_HEAD,
    CONN_ROOM,
    CONN_BODY,
    CONN_HANDLING,
    CONN_FLUSHING,
    CONN_LINGER,
};

enum conn_turn { TURN_NONE, TURN_WAITS, TURN_READING, TURN_HANDLED };

struct conn {
    uint32_t magic;
    enum conn_phase phase;
    enum conn_turn turn;        /* for a large body: http/turns.c */
    struct http_server *server; /* NULL: freed before the handler answered */
    struct conn *next, **place; /* in the server's list */
    struct stream stream;
    struct endpoint peer;
    struct peer *client;  /* the client that it counts for; NULL: a trusted proxy's own */
    struct peer *account; /* of the last key or session; NULL: a stranger's */
    struct link wait_link, client_wait_link;
    struct list *waits_in;  /* the server's list; NULL: it does not wait for its client */
    int64_t waits_since_ms; /* monotonic: the client's last progress */
    struct link room_link;  /* ROOM: in the server's list */
    int64_t wanted_bytes;   /* ROOM: for the body */
    struct link turn_link;
    int64_t turn_read_ms; /* monotonic: when the body was last read */
    int64_t room_bytes;   /* reserved for the present request's body */
    int64_t buffer_bytes; /* as added to the server's sum */
    int64_t share_bytes;  /* as added to the account's or address's sum */
    bool waits_for_room;  /* in that list */
    bool in_share;        /* waits for its client, protected by its account's share */
    bool in_reserve;      /* see http_is_crowded */
    bool open;            /* the stream is open; if not, HANDLING waits for the handler */
    bool detached;        /* no socket: bytes come by conn_feed, answers are dropped */
    bool tls;
    bool processing; /* conn_process is on the stack */
    bool close_after;
    bool eof;          /* the client has ended its side */
    bool body_whole;   /* the request's body is complete, or absent */
    bool answered;     /* `out` has the response's head */
    bool answer_whole; /* and its end */
    bool chunked_out;
    struct http_request request;
    struct head head;
    struct head_scan scan;
    struct chunked chunked;
    struct buf in;                 /* the request's head, and what followed it in the same read */
    size_t head_bytes, used_bytes; /* of `in`: used by the head; by the whole request */
    struct buf body;               /* unless `in` has all of it */
    int64_t body_left;
    int64_t linger_left; /* LINGER: bytes still to be read and dropped */
    struct buf ahead;    /* received while `in` must not move, because the request points into it */
    struct buf out;
    size_t out_at;
    /* Monotonic; INT64_MAX: none. write_deadline runs while `out` waits for the client. */
    int64_t phase_deadline, write_deadline, deadline;
    const char *late_detail;     /* for the 503 at phase_deadline, HANDLING */
    struct timer deadline_timer; /* may fire early: then it is set again */
    struct timer drained_timer;
    void (*drained)(struct http_request *r);
    char request_id[REQUEST_ID_BYTES];
    /* Of the present request, for the access log. */
    int status; /* 0: none yet */
    int64_t began_mono_ms, response_bytes;
    struct http2 *http2; /* has streams; NULL: HTTP/1.1, or a stream itself */
    bool is_stream, head_sent, end_sent;
    size_t unsent_bytes;     /* of `out`, as added to the carrier's sum */
    int64_t window_since_ms; /* monotonic: waits for more window since; 0: does not wait */
    size_t unread_bytes;     /* of a stream in ROOM: not yet given back to its windows */
    int32_t stream_id;       /* 0: nghttp2 has closed it */
    struct conn *carrier;    /* of a stream; NULL: closed and freed */
    struct link stream_link; /* in the carrier's list */
};

#define AHEAD_MAX_BYTES LIMIT_HEADER_BYTES
#define OUT_MAX_BYTES 262144 /* beyond, pipelined requests wait */
#define KEPT_BUFFER_BYTES 8192
#define HTTP2_SESSION_BYTES 16384 /* memory of one, about */
#define SCRATCH_BYTES 65536
#define SPARE_BODIES 8
#define SPARE_BODY_BYTES (1 << 20)

/* Owned by http/server.c, shared with the connections. */
struct http_server {
    uint32_t magic;
    struct loop *loop;
    struct http_server_options options;
    void *own_tls; /* options.tls_context, with our own reference */
    struct io listen;
    struct timer accept_again;
    int64_t complained_mono_ms; /* when a lack of descriptors was last logged */
    struct conn *conns;
    int64_t open;
    struct peers *peers;
    /* Connections that wait for their clients, by `in_share`, the longest waiting first. idle:
     * without a request; stalled: in the middle of a request or answer. */
    struct list idle[2], stalled[2];
    struct list waiting; /* ROOM */
    int64_t buffer_bytes, bodies;
    struct timer room_timer;                  /* checks for room again */
    struct list turns_reading, turns_waiting; /* http/turns.c */
    int64_t turns_taken;
    struct timer turn_timer; /* checks for a free turn */
    bool stopping;
    struct timer stop_timer;
    void (*stopped)(void *context);
    void *stopped_context;
    int64_t date_second; /* of `date` */
    struct buf date;
    struct buf spare_bodies[SPARE_BODIES]; /* big buffers for reuse */
    size_t spare_body_count;
    char scratch[SCRATCH_BYTES]; /* for the present read */
};

/* fd -1: detached. tls: for stream_open. */
struct conn *conn_new(struct http_server *server, int fd, struct ssl_st *tls,
                      const struct endpoint *peer);
/* Passes bytes to a detached connection, as if read. False: the connection is closed. */
bool conn_feed(struct conn *c, const char *p, size_t n);
void conn_begin_phase(struct conn *c, enum conn_phase phase);
/* Frees a closed connection at the end of the tick if nobody needs it any more. */
void conn_release(struct conn *c);
/* Closes it at once. */
void conn_drop(struct conn *c);
/* The server stops: closes it now, or after the request under way. */
void conn_stop(struct conn *c);
/* Sets the deadline and the awaited events, after a change of the phase or of `out`. */
void conn_settle(struct conn *c);
/* The content of `out` was sent. */
void conn_out_taken(struct conn *c);
/* Everything is answered, but the client may still be sending. */
void conn_begin_linger(struct conn *c);
void conn_drop_bytes(struct conn *c, size_t n); /* LINGER: n bytes were read */
/* Writes the content of `out`. False: the connection is lost. */
bool conn_flush(struct conn *c);
static inline bool conn_out_waits(const struct conn *c)
{
    return c->out.n > c->out_at;
}

/* http/server.c */
void server_conn_closed(struct http_server *server);
