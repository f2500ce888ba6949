/* Questions to the node that delivers an app's callbacks, about its memory; through a table that
 * the keepers poll. */
#pragma once

#include "store/postgresql/connection.h"
#include "store/store.h"

#include <pthread.h>

struct postgresql_store;
struct question_answer;

struct pg_questions {
    pthread_mutex_t lock;
    struct store_question *asked;    /* not in the table yet */
    struct store_question *waiting;  /* the keeper's: in the table */
    struct question_answer *answers; /* not in the table yet */
    bool busy;                       /* the keeper's: a question or an answer is on its way */
};

void questions_init(struct pg_questions *q);
void questions_free(struct pg_questions *q); /* ends open questions without an answer */
/* On any thread. */
void questions_ask(struct postgresql_store *s, struct store_question *question);
void questions_answer(struct postgresql_store *s, int64_t id, struct str answer);

/* On the keeper's thread: ends questions that have timed out, even if the database is down; and one
 * poll. */
void questions_expire(struct pg_questions *q);
MUST_CHECK enum pg_fate questions_step(struct postgresql_store *s, struct pg *pg);
