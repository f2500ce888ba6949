/* Inside the sender: what its files share.
 *
 *   exchange -> job -> (waiting | opening | connection) -> settled -> done
 *
 * A job is the sender's half of an exchange. It takes an idle connection of its destination, or
 * makes an `opening` (name, addresses, connect) that ends in a new connection, or waits in line
 * when the sender is at its bound. A destination lives while it has exchanges or connections.
 *
 * `done` is called only from the loop, as the last thing that is done with a job; whatever called
 * job_finish must not touch job or connection afterwards. */
#pragma once

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/list.h"
#include "net/dns.h"
#include "net/stream.h"
#include "send/answer.h"
#include "send/dial.h"
#include "send/h2.h"
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
    struct list idle;    /* its connections, by link_of_pool; the one used last is taken first */
    struct list shared;  /* HTTP/2, with streams; the same */
    struct job *pioneer; /* opens a connection that may turn out to be shared, */
    struct list joiners; /* and those who wait for it */
    bool http1_only;     /* what was agreed on last: no use to wait */
    bool no_http2;       /* it wants HTTP/1.1 of us: not offered any more */
    uint32_t allowed_streams; /* on one connection, as far as it has said; 0: it has not */
    uint32_t exchanges, connections;
    struct buf fixed;       /* header lines: request_print_fixed */
    struct buf fixed_lines; /* the same for the log: request_print_lines */
    bool https, host_is_address;
    uint16_t port;
    struct address address; /* when host_is_address */
    size_t host_bytes;
    bool has_identity;
    uint8_t identity[32]; /* of the client's certificate; zero: none */
    char host[];          /* NUL-terminated */
};

enum job_phase {
    JOB_WAITING,   /* in line for a connection */
    JOB_JOINING,   /* the pioneer of its destination is opening one */
    JOB_RESOLVING, /* opening */
    JOB_DIALING,   /* opening */
    JOB_TUNNEL,    /* opening; the proxy is asked */
    JOB_HANDSHAKE, /* has a connection from here on */
    JOB_ANSWER,    /* the request is being sent, or was; no complete headers yet */
    JOB_BODY,      /* the outcome is certain; the body is being kept */
    JOB_SETTLED,   /* only `done` is left to be called */
};

struct job {
    uint32_t magic;
    enum job_phase phase;
    struct sender *sender;
    struct exchange *x;
    struct host_pool *destination;
    struct opening *opening;
    struct connection *connection;
    struct multiplexed *stream; /* of the connection, HTTP/2 */
    struct timer timer;
    int64_t started_mono_ms, deadline_mono_ms, connect_deadline_mono_ms;
    int64_t join_deadline_mono_ms; /* 0: has not waited for a pioneer */
    uint32_t generation;           /* the sender's, when its opening began */
    bool retried;                  /* the one retry of a stale connection was used */
    struct link link;              /* in line, or joining */
    struct address address;        /* being connected, or connected, to; family 0: none yet */
};

enum connection_state {
    CONNECTION_HANDSHAKE,
    CONNECTION_BUSY,
    CONNECTION_IDLE,
    CONNECTION_SHARED,   /* HTTP/2 with streams; no job of its own */
    CONNECTION_DRAINING, /* no job; the rest of a body is read and dropped */
};

struct connection {
    uint32_t magic;
    enum connection_state state;
    struct stream stream;
    struct sender *sender;
    struct host_pool *destination;
    struct job *job; /* HANDSHAKE, BUSY */
    struct address address;
    uint32_t generation; /* its opening's */
    int64_t opened_mono_ms, idle_mono_ms;
    bool used; /* has carried an exchange before the present one */
    bool write_failed;
    bool owes_request;      /* BUSY: its job's is not written yet */
    bool identity_unusable; /* as a client; nothing is sent */
    struct buf unsent;      /* of the request; sent up to unsent_at */
    size_t unsent_at;
    struct answer answer;
    struct timer timer;             /* DRAINING: its end */
    struct link link;               /* IDLE, DRAINING, SHARED, owing: of the sender */
    struct link link_of_pool;       /* IDLE, SHARED: of the destination */
    struct h2 *h2;                  /* NULL: HTTP/1.1 */
    struct list streams;            /* HTTP/2 */
    int64_t heard_mono_ms;          /* HTTP/2: last bytes of the peer */
    bool retired;                   /* takes no more streams */
    bool working;                   /* is not to be closed now, and written to soon */
    struct link dirty;              /* of the sender's `dirty`: has something to write */
    int64_t certificate_expires_ms; /* the peer's; 0: none */
    char *tls_why;                  /* what is wrong with the certificate, or NULL */
};

struct sender {
    uint32_t magic;
    struct loop *loop;
    struct sender_options options;
    struct address *sources;
    uint32_t generation; /* of rules and trust: older connections are used no more */
    char *user_agent;
    size_t next_source;
    bool has_proxy;
    struct url proxy;
    struct arena arena; /* of the proxy's URL */
    struct dns *dns;
    struct ssl_ctx_st *tls;
    struct sessions *sessions;
    struct hash_secret secret;
    struct list idle; /* the one idle for longest first */
    struct list draining;
    struct list shared, dirty; /* HTTP/2 */
    struct list owing;         /* HTTP/1.1 */
    struct timer owing_timer;
    struct timer flush_timer;
    struct timer idle_timer;
    struct list line; /* of jobs */
    struct timer line_timer;
    struct buf request; /* scratch */
    int64_t exchanges, connections, opened, reused;
    struct hash_map destinations;
    char input[INPUT_BYTES]; /* scratch */
};

/* destination.c: the table, and who is idle. */
struct host_pool *destination_get(struct sender *s, const struct exchange *x);
void destination_drop_if_unused(struct sender *s, struct host_pool *d);
struct connection *idle_take(struct sender *s, struct host_pool *d); /* NULL: none */
void idle_give(struct connection *c);
void idle_remove(struct connection *c);
bool idle_close_oldest(struct sender *s); /* false: none is idle */
void idle_timer_fire(struct timer *timer);

/* job.c: the course of an exchange. */
void job_start(struct sender *s, struct exchange *x);
void job_go(struct job *job);         /* on a connection there is, or a fresh one */
void job_open_fresh(struct job *job); /* or waits in line */
/* The pioneer has a connection: who waits for it goes on. */
void joiners_release(struct host_pool *d);
/* The outcome; `done` follows from the loop unless job_finish is called first. */
void job_settle(struct job *job, enum attempt_class class, const char *fmt, ...) PRINTF_LIKE(3, 4);
void job_settle_by_status(struct job *job, const char *but); /* but: what went wrong after, or "" */
void job_finish(struct job *job);                            /* calls done */
void job_abandon(struct job *job);                           /* without done */
void job_set_phase(struct job *job, enum job_phase phase);   /* and its deadline */
void line_poke(struct sender *s); /* a connection was closed or became idle */
void line_timer_fire(struct timer *timer);
/* "host (address) port n" of where the job goes. */
void job_print_where(struct buf *to, const struct job *job);

/* opening.c: from a name to a connected socket. Ends in connection_open or job_settle. */
void opening_start(struct job *job);
void opening_cancel(struct opening *opening);

/* connection.c: bytes out and in. */
void connection_open(struct job *job, int fd, const struct address *address);
void connection_send(struct connection *c, struct job *job);
void connection_close(struct connection *c);
/* The job's outcome is its status: `done` is called, and the rest of the answer is read and dropped
 * until the job's deadline. */
void connection_drain(struct job *job);
void connection_write(struct connection *c, const char *p, size_t n); /* what is not taken waits */
void owing_timer_fire(struct timer *timer);
bool connection_is_old(const struct connection *c); /* to be used no more */
void connection_print_tls_why(struct buf *to, const struct connection *c,
                              enum stream_result result); /* a clause behind "host port n" */

/* multiplex.c: exchanges that share an HTTP/2 connection. */
struct connection *shared_take(struct host_pool *d); /* one with room, NULL: none */
void multiplex_begin(struct connection *c);          /* the handshake chose HTTP/2 */
void multiplex_send(struct connection *c, struct job *job);
void multiplex_leave(struct job *job);      /* the exchange is over, the connection goes on */
void multiplex_drain(struct job *job);      /* as connection_drain */
void multiplex_read(struct connection *c);  /* until the peer is gone */
void multiplex_go_on(struct connection *c); /* it can be written to again */
void multiplex_flush_timer_fire(struct timer *timer);
void multiplex_free(struct connection *c); /* its half of connection_close */
enum multiplex_stage {
    MULTIPLEX_NO_STREAM, /* the peer does not allow one yet */
    MULTIPLEX_NO_WINDOW, /* nor the whole body */
    MULTIPLEX_SENT,
    MULTIPLEX_BEGUN, /* its answer has begun */
};
enum multiplex_stage multiplex_stage(const struct job *job);

/* sessions.c: TLS sessions to resume, kept beyond connections and destinations. */
struct sessions *sessions_new(struct sender *s);
void sessions_free(struct sessions *sessions);
struct ssl_session_st *sessions_find(struct sessions *sessions, const struct host_pool *d);
void sessions_put(struct sessions *sessions, const struct host_pool *d,
                  struct ssl_session_st *session, bool resumed); /* takes the reference */

/* certificate.c: what is wrong with a receiver's certificate, in words. */
struct ssl_st;
void certificate_watch(struct ssl_st *tls); /* its app data is the connection */
