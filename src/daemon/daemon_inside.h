/* What the files of daemon/ share about the daemon itself. Internal to daemon/. */
#pragma once

#include "base/waiter.h"
#include "daemon/daemon.h"
#include "daemon/descriptors.h"
#include "daemon/peer_changes.h"
#include "net/loop.h"

#include <pthread.h>

#define DAEMON_MAGIC 0xDAE30091u

/* A loop's thread and what runs on it. */
struct loop_thread {
    struct daemon *daemon;
    struct loop *loop;
    struct sender *sender;
    struct http_server *server;
    struct api_loop *api;
    pthread_t thread;
    struct task stop_server, reload;
};

struct reload; /* reload.c */

struct daemon {
    uint32_t magic;
    struct daemon_options options;
    struct env *env;
    struct store *store;
    struct directory *directory;
    struct accounts *accounts;
    struct control *control;
    struct recoveries *recoveries;
    struct idempotency *idempotency;
    struct people *people;
    struct oidc *oidc;
    struct live *live;
    struct delivery *delivery;
    struct mailer *mailer; /* NULL: no e-mail is sent */
    struct operations *operations;
    struct bus *bus;                   /* NULL: events come only by HTTP */
    struct rewards_feed *rewards_feed; /* NULL: rewards are not written to Kafka */
    struct api *api;
    struct watch *watch;
    struct watchdog *watchdog;
    struct books_watch *books;
    struct certificate_watch *certificates;
    struct reseal *reseal;
    struct link_mail *link_mail;
    struct ssl_ctx_st *tls;
    struct tls_authorities *authorities;
    int listen_fd;
    struct access_log *access_log; /* NULL: none */
    struct descriptor_shares descriptors;
    struct loop_thread *loop_threads;
    size_t loop_thread_count;
    struct peer_changes peer_changes;
    const struct reload *reload; /* while the loops take it over */
    struct waiter waiter;        /* the main thread's, for one wait at a time */
    struct task delivery_stopped;
};
