/* The HTTP interface: routes, access rights and answers (contract, sections 3, 5, 6).
 *
 * The daemon has one `struct api`, and one `struct api_loop` per loop, which owns what threads do
 * not share, such as the reader of events. The HTTP server calls api_headers_in when a request's
 * headers are complete, and api_handle when the whole request is. */
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
    struct accounts *accounts; /* only its functions for any thread */
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
    const struct address *sources; /* egress addresses, shown in /openapi.json */
    size_t source_count;
    int32_t reads_per_minute; /* per key */
    int32_t bodies_days;      /* days that retention keeps bodies after the final state */
    struct str public_url;    /* absent: relative */
    const char *version;
};

struct api;
struct api_loop;

struct api *api_new(const struct api_options *options); /* options' texts must outlive it */
void api_free(struct api *api);
void api_set_reads_per_minute(struct api *api, int32_t reads_per_minute); /* any thread */
void api_set_bodies_days(struct api *api, int32_t days);                  /* likewise */
void api_set_accepting(struct api *api, bool accepting); /* false: readyz and ingest answer 503 */

void api_count_rejected(struct api *api, size_t events); /* of events from Kafka; any thread */

/* Another node asks for the health of endpoints. Answers by store_answer; not at all if this node
 * does not know the app yet, or is stopping. Continues at the executor; any thread. */
void api_answer_question(struct api *api, struct executor *executor, int64_t question,
                         uint32_t app_no, enum question_scope scope);

struct api_loop *api_loop_new(struct api *api, struct loop *loop);
void api_loop_free(struct api_loop *loop);

/* For struct http_server_options; context is the struct api_loop. */
int api_headers_in(void *context, struct http_request *r);
void api_handle(void *context, struct http_request *r);
