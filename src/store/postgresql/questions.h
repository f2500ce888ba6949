/* Questions from node to node, by way of a table that the keepers look at: what only the node knows
 * that delivers an app's callbacks. */
#pragma once

#include "store/postgresql/connection.h"
#include "store/store.h"

#include <pthread.h>

struct postgresql_store;
struct question_answer;

struct pg_questions {
    pthread_mutex_t lock;
    struct store_question *asked;    /* not in the table yet */
    struct store_question *waiting;  /* the keeper's own: in the table */
    struct question_answer *answers; /* not in the table yet */
    bool busy;                       /* the keeper's: something is on its way */
};

void questions_init(struct pg_questions *q);
void questions_free(struct pg_questions *q); /* answers what is asked: not answered */
/* Any thread. */
void questions_ask(struct postgresql_store *s, struct store_question *question);
void questions_answer(struct postgresql_store *s, int64_t id, struct str answer);

/* The keeper's: those that have waited for long enough are not answered, whatever the database
 * does; and one look. */
void questions_expire(struct pg_questions *q);
MUST_CHECK enum pg_fate questions_step(struct postgresql_store *s, struct pg *pg);
