/* The HTTP interface: routes, who may use them, and their answers (contract, sections 3, 5, 6).
 *
 * One `struct api` for the daemon, one `struct api_loop` per loop (it owns what is not shared
 * between threads, such as the reader of events). The http server calls api_headers_in when a
 * request's headers are in and api_handle when it is whole. */
#pragma once

#include "accounts/accounts.h"
#include "delivery/delivery.h"
#include "http/server.h"
#include "store/store.h"

struct books_watch;
struct bus;
struct rewards_feed;
struct certificate_watch;
struct control;
struct live;
struct oidc;
struct operations;
struct people;
struct recoveries;

struct api_options {
    struct env *env;
    struct store *store;
    struct directory *directory;
    struct delivery *delivery;
    struct accounts *accounts; /* only for what any thread may ask it */
    struct control *control;   /* changes of accounts, one at a time */
    struct recoveries *recoveries;
    struct books_watch *books;
    struct operations *operations;
    struct certificate_watch *certificates;
    struct people *people;
    struct link_mail *link_mail;
    struct oidc *oidc; /* identity providers */
    struct live *live;
    struct bus *bus;                   /* NULL: no intake from Kafka */
    struct rewards_feed *rewards_feed; /* NULL: none to Kafka */
    const struct hash_secret *hash_secret;
    const struct address *sources; /* egress addresses, said in /openapi.json */
    size_t source_count;
    int32_t reads_per_minute; /* per key */
    int32_t bodies_days;      /* how long retention keeps bodies behind the final state */
    struct str public_url;    /* absent: relative */
    const char *version;
};

struct api;
struct api_loop;

struct api *api_new(const struct api_options *options); /* options' texts must outlive it */
void api_free(struct api *api);
void api_set_reads_per_minute(struct api *api, int32_t reads_per_minute); /* any thread */
void api_set_bodies_days(struct api *api, int32_t days);                  /* likewise */
void api_set_accepting(struct api *api, bool accepting); /* false: readyz says 503, ingest too */

void api_count_rejected(struct api *api, size_t events); /* that did not come by HTTP; any thread */

/* Another node asks how endpoints do: answered by store_answer, perhaps. Goes on at the executor;
 * any thread. */
void api_answer_question(struct api *api, struct executor *executor, int64_t question,
                         uint32_t app_no, enum question_scope scope);

struct api_loop *api_loop_new(struct api *api, struct loop *loop);
void api_loop_free(struct api_loop *loop);

/* For struct http_server_options; context is the struct api_loop. */
int api_headers_in(void *context, struct http_request *r);
void api_handle(void *context, struct http_request *r);
