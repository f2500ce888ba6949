/* The inside of the sender: what its files share.
 *
 *   exchange -> job -> (waiting | opening | connection) -> settled -> done
 *
 * A job is the sender's half of an exchange. It takes an idle connection of its destination, or
 * makes an `opening` (name, addresses, connect) that ends in a new connection, or waits in line if
 * the sender is at its bound. A destination exists while it has exchanges or connections.
 *
 * `done` is called only from the loop, as the last action on a job: after job_finish the caller
 * must not touch the job or its connection. */
#pragma once

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/list.h"
#include "net/dns.h"
#include "net/stream.h"
#include "send/dial.h"
#include "send/h2.h"
#include "send/receiver_answer.h"
#include "send/request_print.h"
#include "send/send.h"

#define SENDER_MAGIC 0x53454e44u
#define JOB_MAGIC 0x4a4f4221u
#define CONNECTION_MAGIC 0x434f4e4eu
#define INPUT_BYTES 16384

struct connection;
struct multiplexed;
struct opening;
struct sessions;
struct ssl_ctx_st;

struct host_pool {
    struct hash_node node;
    struct list idle;    /* idle connections, by link_of_pool; the last used is taken first */
    struct list shared;  /* HTTP/2 connections with streams; likewise */
    struct job *pioneer; /* the job that opens a connection which others may share, */
    struct list joiners; /* and the jobs that wait for it */
    bool http1_only;     /* the last connection used HTTP/1.1, so waiting is useless */
    bool no_http2;       /* the receiver has asked for HTTP/1.1: HTTP/2 is not offered any more */
    uint32_t allowed_streams; /* on one connection, by its last SETTINGS; 0: unknown */
    uint32_t exchanges, connections;
    uint32_t draining; /* answers whose exchange is over, still being read */
    struct request_fixed fixed;
    bool https, host_is_address;
    uint16_t port;
    struct address address; /* if host_is_address */
    size_t host_bytes;
    bool has_identity;
    uint8_t identity[32]; /* of the client's certificate; zero: none */
    char host[];          /* NUL-terminated */
};

enum job_phase {
    JOB_WAITING,   /* in line for a connection */
    JOB_JOINING,   /* waits for the pioneer of its destination */
    JOB_RESOLVING, /* opening */
    JOB_DIALING,   /* opening */
    JOB_TUNNEL,    /* opening; waits for the proxy */
    JOB_HANDSHAKE, /* has a connection from here on */
    JOB_ANSWER,    /* the request is being sent or has been; the headers are incomplete */
    JOB_BODY,      /* the outcome is certain; the body is being read */
    JOB_SETTLED,   /* `done` is about to be called */
};

struct job {
    uint32_t magic;
    enum job_phase phase;
    struct sender *sender;
    struct exchange *x;
    struct host_pool *pool;
    struct opening *opening;
    struct connection *connection;
    struct multiplexed *stream; /* its stream on an HTTP/2 connection */
    struct timer timer;
    int64_t started_mono_ms, deadline_mono_ms, connect_deadline_mono_ms;
    int64_t join_deadline_mono_ms; /* 0: it has not waited for a pioneer */
    uint32_t generation;           /* the sender's when its opening began */
    bool retried;                  /* the single retry after a stale connection is used up */
    struct link link;              /* in line, or joining */
    struct address address; /* the address being connected to, or connected; family 0: none yet */
};

enum connection_state {
    CONNECTION_HANDSHAKE,
    CONNECTION_BUSY,
    CONNECTION_IDLE,
    CONNECTION_SHARED,   /* HTTP/2 with streams; has no job of its own */
    CONNECTION_DRAINING, /* no job; reads and drops the rest of a body */
};

struct connection {
    uint32_t magic;
    enum connection_state state;
    struct stream stream;
    struct sender *sender;
    struct host_pool *pool;
    struct job *job; /* HANDSHAKE, BUSY */
    struct address address;
    uint32_t generation; /* its opening's */
    int64_t opened_mono_ms, idle_mono_ms;
    bool used; /* has carried an earlier exchange */
    bool write_failed;
    bool has_pending_write; /* BUSY: its job's request is not written yet */
    bool identity_unusable; /* as a client; nothing is sent */
    struct buf unsent;      /* of the request; sent up to unsent_at */
    size_t unsent_at;
    struct answer answer;
    struct timer timer;       /* DRAINING: its deadline */
    struct link link;         /* IDLE, DRAINING, SHARED, pending write: in the sender's list */
    struct link link_of_pool; /* IDLE, SHARED: in the destination's list */
    struct h2 *h2;            /* NULL: HTTP/1.1 */
    struct list streams;      /* HTTP/2 */
    int64_t heard_mono_ms;    /* HTTP/2: when the peer last sent bytes */
    bool retired;             /* takes no more streams */
    bool working;             /* must not be closed now; will be written to soon */
    struct link dirty;        /* in the sender's `dirty`: has something to write */
    int64_t certificate_expires_ms; /* the peer's; 0: none */
    char *tls_why;                  /* what is wrong with the certificate; may be NULL */
};

struct sender {
    uint32_t magic;
    struct loop *loop;
    struct sender_options options;
    struct address *sources;
    uint32_t generation; /* of rules and trust: connections of older generations are not reused */
    char *user_agent;
    size_t next_source;
    bool has_proxy;
    struct url proxy;
    struct arena arena; /* for the proxy's URL */
    struct dns *dns;
    struct ssl_ctx_st *tls;
    struct sessions *sessions;
    struct hash_secret secret;
    struct list idle; /* the longest idle first */
    struct list draining;
    struct list shared, dirty;  /* HTTP/2 */
    struct list pending_writes; /* HTTP/1.1: requests to write */
    struct timer pending_write_timer;
    struct timer flush_timer;
    struct timer idle_timer;
    struct list line; /* jobs that wait for a connection */
    struct timer line_timer;
    struct buf request; /* scratch */
    int64_t exchanges, connections, opened, reused;
    struct hash_map destinations;
    char input[INPUT_BYTES]; /* scratch */
};

/* host_pool.c: the table of destinations, and idle connections. */
struct host_pool *host_pool_get(struct sender *s, const struct exchange *x);
void host_pool_drop_if_unused(struct sender *s, struct host_pool *d);
struct connection *idle_take(struct sender *s, struct host_pool *d); /* NULL: none */
void idle_give(struct connection *c);
void idle_remove(struct connection *c);
bool idle_close_oldest(struct sender *s); /* false: none is idle */
void idle_timer_fire(struct timer *timer);

/* job.c: the course of an exchange. */
void job_start(struct sender *s, struct exchange *x);
void job_go(struct job *job);         /* on an existing connection, or a new one */
void job_open_fresh(struct job *job); /* opens a connection, or waits in line */
/* The pioneer has a connection: the waiting jobs continue. */
void joiners_release(struct host_pool *d);
/* Sets the outcome; the loop calls `done` unless job_finish is called first. */
void job_settle(struct job *job, enum attempt_class class, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* but: what went wrong afterwards, or "" */
void job_settle_by_status(struct job *job, const char *but);
bool job_may_send(struct job *job); /* asked right before its request is written */
/* Ends a job whose request may not be written, and that has no connection; the loop calls `done`.
 */
void job_withhold(struct job *job);
void job_finish(struct job *job);                          /* calls done */
void job_abandon(struct job *job);                         /* without done */
void job_set_phase(struct job *job, enum job_phase phase); /* also sets its deadline */
void line_poke(struct sender *s); /* a connection was closed or became idle */
void line_timer_fire(struct timer *timer);
/* "host (address) port n" of the job's target. */
void job_print_where(struct buf *to, const struct job *job);

/* opening.c: from a name to a connected socket. Ends in connection_open or job_settle. */
void opening_start(struct job *job);
void opening_cancel(struct opening *opening);
enum local_fault opening_local_fault(const struct opening *opening); /* its time is up */

/* http_connection.c: writing and reading. */
void connection_open(struct job *job, int fd, const struct address *address);
void connection_send(struct connection *c, struct job *job);
void connection_close(struct connection *c);
/* Settles the job by its status and calls `done`; the rest of the answer is read and dropped until
 * the job's deadline. */
void connection_drain(struct job *job);
/* keeps the bytes that the socket does not take */
void connection_write(struct connection *c, const char *p, size_t n);
void pending_write_timer_fire(struct timer *timer);
bool connection_is_old(const struct connection *c); /* must not be reused */
void connection_print_tls_why(struct buf *to, const struct connection *c,
                              enum stream_result result); /* a clause that follows "host port n" */

/* multiplex.c: exchanges that share an HTTP/2 connection. */
struct connection *shared_take(struct host_pool *d); /* a connection with room; NULL: none */
void multiplex_begin(struct connection *c);          /* ALPN has chosen HTTP/2 */
void multiplex_send(struct connection *c, struct job *job);
void multiplex_leave(struct job *job);      /* the exchange ends, the connection stays */
void multiplex_drain(struct job *job);      /* as connection_drain */
void multiplex_read(struct connection *c);  /* also handles the peer's close */
void multiplex_go_on(struct connection *c); /* the socket is writable again */
void multiplex_flush_timer_fire(struct timer *timer);
void multiplex_free(struct connection *c); /* its part of connection_close */
/* How far a job in JOB_ANSWER has come. */
enum exchange_stage {
    EXCHANGE_NO_STREAM, /* HTTP/2: the peer does not allow a stream yet */
    EXCHANGE_NO_WINDOW, /* HTTP/2: the peer's window has not allowed the whole body yet */
    EXCHANGE_PARTLY_SENT,
    EXCHANGE_SENT,
    EXCHANGE_ANSWER_BEGUN,
};
enum exchange_stage multiplex_stage(const struct job *job);

/* tls_sessions.c: TLS sessions for resumption, which outlive connections and destinations. */
struct sessions *sessions_new(struct sender *s);
void sessions_free(struct sessions *sessions);
struct ssl_session_st *sessions_find(struct sessions *sessions, const struct host_pool *d);
void sessions_put(struct sessions *sessions, const struct host_pool *d,
                  struct ssl_session_st *session, bool resumed); /* takes over the reference */

/* certificate.c: describes what is wrong with a receiver's certificate. */
struct ssl_st;
void certificate_watch(struct ssl_st *tls); /* the stream's app data must be the connection */
