/* The demo's parts: the accounts it makes, the traffic it sends and the numbers it shows. */
#pragma once

#include "base/env.h"
#include "cli/client.h"
#include "cli/receiver.h"

#include <pthread.h>
#include <stdatomic.h>

#define DEMO_APPS 6
/* A path with this after the AppId: there the receiver of a broken app accepts callbacks, too. */
#define DEMO_FIXED_PATH "fixed"

/* How an app's receiver behaves. */
enum demo_mood { MOOD_GOOD, MOOD_COMES_AND_GOES, MOOD_BROKEN };

struct demo_app {
    const char *partner_id, *partner_name, *app_id, *name, *client_id, *integration;
    const char *currency;
    unsigned visits_of_100; /* its share of all visits */
    enum demo_mood mood;
    char secret[128];
    atomic_long received, verified, wrong, duplicates, refused;
};

struct demo_world {
    struct demo_app apps[DEMO_APPS];
    char api_url[64], receiver_url[64];
    char operator_key[80];
    char partner_key[80]; /* of the first partner, for the curl lines */
    char password[40];    /* of all users */
    int64_t started_ms;
    atomic_bool stopping;
    atomic_long events_sent;
};

void demo_world_init(struct demo_world *w, struct env *env);
/* Partners, apps, clients and a key. False: a line was printed. */
MUST_CHECK bool demo_make_accounts(struct demo_world *w, struct client_session *c);
/* The dashboard's users, all with one password. */
MUST_CHECK bool demo_make_people(struct demo_world *w, struct client_session *c);
/* Sends a month of past events and today's until now; their callbacks are skipped. */
MUST_CHECK bool demo_make_history(struct demo_world *w, struct client_session *c, struct rng *rng);
/* Sends the events of a fifth of a second, in one batch. */
MUST_CHECK bool demo_send_traffic(struct demo_world *w, struct client_session *c, struct rng *rng);

/* For struct receiver_options, with the world as context. */
struct str demo_secret_of(void *context, struct str path);
int demo_status_of(void *context, struct str path, int64_t *ret_delay_ms);
void demo_received(void *context, const struct received *r);

/* Prints what the demo does before it is ready. */
void demo_print_step(const char *sentence);
/* Shows how many days of the history are made. */
void demo_print_progress(const struct demo_world *w, int days, int days_in_all);
void demo_print_welcome(const struct demo_world *w);
/* The live table, redrawn in place on a terminal. */
void demo_print_summary(struct demo_world *w, struct client_session *c, bool redraw);
