/* The daemon's life: what is started in which order, and stopped in the opposite one.
 *
 * start: store (recovers) - accounts - loops with senders - delivery - servers - listening.
 * stop: no new connections, events and attempts - what runs ends - outcomes durable - store. */
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
    int inherited_fd; /* instead of it: a socket that listens already, the daemon's; 0: none */
    const char *tls_cert_file, *tls_key_file; /* both or none */
    const char *store_uri; /* postgresql://...; NULL: SQLite in store_directory */
    const char *store_directory;
    /* Further clusters that accounts are split over, beside store_uri. */
    const char *const *cluster_uris;
    size_t cluster_count;
    const char *replica_uri; /* of PostgreSQL, for reports and the log; NULL: none */
    int64_t replica_lag_most_ms;
    const char *node_name; /* of this process, where several share a database */
    struct store_retention retention;
    struct schedule schedule;
    struct destination_rules rules;
    const struct address *sources;
    size_t source_count;
    const struct cidr *trusted_proxies;
    size_t trusted_proxy_count;
    const char *ca_file, *dns_server; /* NULL: the system's */
    const char *proxy;                /* NULL: none */
    bool http2;                       /* offered to https receivers, taken from https clients */
    struct str public_url;            /* absent: none */
    const char *sign_in_file;         /* of identity providers; NULL: none */
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
    struct bus_settings bus;    /* topics NULL: events come by HTTP alone */
    int64_t disk_reserve_bytes; /* 0: by the disk's size */
    int64_t waiting_most;
    const char *version;
    /* At SIGHUP, on the main thread: reads the options anew and gives them to daemon_reload. NULL:
     * the same ones again. */
    void (*reload)(void *context, struct daemon *daemon);
    void *reload_context;
};

/* Starts everything; the texts of the options must outlive it. NULL: *ret_why (malloc'ed) is one
 * clear line. */
MUST_CHECK struct daemon *daemon_start(const struct daemon_options *options, char **ret_why);
/* While there is no user: a one-time link with which the first admin is made. False: somebody is
 * there. */
MUST_CHECK bool daemon_offer_set_up(struct daemon *daemon, struct buf *ret_link);
/* Runs until SIGTERM or SIGINT, then stops everything and frees it: 0, or 1 when the store failed
 * meanwhile. A store that fails earlier ends the process at once, with status 1. Signals must be
 * blocked in the caller before daemon_start: daemon_block_signals. */
int daemon_run(struct daemon *daemon);
/* Takes from `next` what a running daemon can take (reload.c). All of it or, with *ret_why,
 * nothing. The texts and lists of the former options are not used any more then. From
 * options.reload. */
MUST_CHECK bool daemon_reload(struct daemon *daemon, const struct daemon_options *next,
                              char **ret_why);
void daemon_block_signals(void);
/* Whether SIGTERM or SIGINT waits to be taken. */
bool daemon_stop_asked(void);
