/* The daemon's life cycle: the order of the start; the stop is the reverse.
 *
 * start: store (recovers) - accounts - loops with senders - delivery - servers - listening.
 * stop: no new connections, events and attempts - running ones end - outcomes durable - store. */
#pragma once

#include "api/api.h"
#include "base/log.h"
#include "bus/rewards_feed.h"
#include "domain/destination_rules.h"
#include "domain/schedule.h"
#include "mail/mailer.h"
#include "net/socket.h"
#include "store/store_open.h"

struct daemon;

struct daemon_options {
    struct endpoint listen;
    int inherited_fd; /* used instead: a listening socket, which the daemon then owns; 0: none */
    const char *tls_cert_file, *tls_key_file; /* both or none */
    const char *store_uri; /* postgresql://...; NULL: SQLite in store_directory */
    const char *store_directory;
    /* Further clusters over which accounts are split, besides store_uri. */
    const char *const *cluster_uris;
    size_t cluster_count;
    const char *replica_uri; /* of PostgreSQL, for reports and the log; NULL: none */
    int64_t replica_lag_most_ms;
    const char *node_name; /* of this process, if several share a database */
    struct store_retention retention;
    struct schedule schedule;
    struct destination_rules rules;
    const struct address *sources;
    size_t source_count;
    const struct cidr *trusted_proxies;
    size_t trusted_proxy_count;
    const char *ca_file, *dns_server; /* NULL: the system's */
    const char *proxy;                /* NULL: none */
    bool http2;                       /* in both directions, over TLS */
    struct str public_url;            /* absent: none */
    const char *sign_in_file;         /* names identity providers; NULL: none */
    const char *access_log;           /* a file, or "-"; NULL: none */
    bool access_log_probes;
    enum log_level log_level;
    bool log_json;
    struct str operator_key;      /* absent: none */
    struct str master_key;        /* absent: the key file */
    struct str second_master_key; /* absent: none */
    int32_t loops;
    int64_t descriptors; /* RLIMIT_NOFILE */
    int32_t reads_per_minute;
    struct str operations_url;   /* the operator's; absent: none */
    struct str operations_email; /* likewise */
    struct mailer_options mail;  /* url NULL: no e-mail is sent */
    int64_t operations_spacing_ms;
    int32_t daily_mail_minute;  /* of the day (UTC) */
    struct bus_settings bus;    /* topics NULL: events come only by HTTP */
    int64_t disk_reserve_bytes; /* 0: by the disk's size */
    int64_t waiting_most;
    const char *version;
    /* Called at SIGHUP on the main thread: reads the options again and calls daemon_reload. NULL:
     * the same options are used again, with the present content of their files. */
    void (*reload)(void *context, struct daemon *daemon);
    void *reload_context;
};

/* Starts everything. The options' texts must outlive it. NULL: *ret_why (malloc'ed) is one clear
 * line. */
MUST_CHECK struct daemon *daemon_start(const struct daemon_options *options, char **ret_why);
/* A one-time link that makes the first admin. False: there is a user already. */
MUST_CHECK bool daemon_offer_set_up(struct daemon *daemon, struct buf *ret_link);
/* Runs until SIGTERM or SIGINT, then stops everything and frees it: 0, or 1 when the store failed
 * meanwhile. A store that fails earlier ends the process at once, with status 1. Signals must be
 * blocked in the caller before daemon_start: daemon_block_signals. */
int daemon_run(struct daemon *daemon);
/* Takes over from `next` what a running daemon can change (reload.c): all of it, or nothing, with
 * *ret_why. Afterwards the former options' texts and lists are not used any more. Call it from
 * options.reload. */
MUST_CHECK bool daemon_reload(struct daemon *daemon, const struct daemon_options *next,
                              char **ret_why);
void daemon_block_signals(void);
/* True if SIGTERM or SIGINT is pending. */
bool daemon_stop_asked(void);
