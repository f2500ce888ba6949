/* A question is a row. The node that holds the app's shard takes it and writes the answer into it;
 * the asking node deletes it. A question that is not answered in time ends without an answer, so
 * nobody waits for a dead node. Nothing may depend on an answer. */
#include "store/postgresql/questions.h"

#include "base/alloc.h"
#include "store/postgresql/postgresql_store.h"

#include <stdlib.h>

#define PATIENCE_MS 2000
#define STEP_MOST 8 /* statements of one kind in one step */

struct question_answer {
    struct question_answer *next;
    int64_t id;
    struct buf text;
};

void questions_init(struct pg_questions *q)
{
    ASSERT(pthread_mutex_init(&q->lock, NULL) == 0);
}

static void finish(struct store_question *question, struct str answer)
{
    question->answered = answer.p != NULL;
    question->answer = arena_str(&question->arena, answer);
    executor_post(question->reply_to, &question->done);
}

static void finish_all(struct store_question *list)
{
    for (struct store_question *next; list; list = next) {
        next = list->next;
        finish(list, STR_NONE);
    }
}

static void free_answer(struct question_answer *a)
{
    buf_free(&a->text);
    free(a);
}

void questions_free(struct pg_questions *q)
{
    finish_all(q->asked);
    finish_all(q->waiting);
    for (struct question_answer *a = q->answers, *next; a; a = next) {
        next = a->next;
        free_answer(a);
    }
    pthread_mutex_destroy(&q->lock);
}

void questions_ask(struct postgresql_store *s, struct store_question *question)
{
    struct pg_questions *q = &s->questions;
    uint64_t id;
    env_random(env_real(), &id, sizeof id);
    question->id = (int64_t)(id >> 1);
    question->until_mono_ms = env_mono_ms(env_real()) + PATIENCE_MS;
    pthread_mutex_lock(&q->lock);
    question->next = q->asked;
    q->asked = question;
    pthread_mutex_unlock(&q->lock);
}

void questions_answer(struct postgresql_store *s, int64_t id, struct str answer)
{
    struct pg_questions *q = &s->questions;
    struct question_answer *a = xcalloc(1, sizeof *a);
    a->id = id;
    buf_add(&a->text, answer.p, answer.n);
    pthread_mutex_lock(&q->lock);
    a->next = q->answers;
    q->answers = a;
    pthread_mutex_unlock(&q->lock);
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* Inserts up to STEP_MOST new questions. */
static void put_questions(struct postgresql_store *s, struct pg *pg)
{
    struct pg_questions *q = &s->questions;
    for (int n = 0; n < STEP_MOST; n++) {
        pthread_mutex_lock(&q->lock);
        struct store_question *question = q->asked;
        if (question)
            q->asked = question->next;
        pthread_mutex_unlock(&q->lock);
        if (!question)
            return;
        question->next = q->waiting;
        q->waiting = question;
        args_int(pg_args(pg), PG_INT8, question->id);
        args_int(&pg->args, PG_INT2, shard_of_app(question->app_no));
        args_int(&pg->args, PG_INT8, question->app_no);
        args_int(&pg->args, PG_INT2, question->scope);
        args_int(&pg->args, PG_INT8, (int64_t)s->nodes.member.self);
        pg_query(pg, "INSERT INTO question(id,shard,app_no,scope,asker) VALUES($1,$2,$3,$4,$5)");
    }
}

static void put_answers(struct postgresql_store *s, struct pg *pg)
{
    struct pg_questions *q = &s->questions;
    for (int n = 0; n < STEP_MOST; n++) {
        pthread_mutex_lock(&q->lock);
        struct question_answer *a = q->answers;
        if (a)
            q->answers = a->next;
        pthread_mutex_unlock(&q->lock);
        if (!a)
            return;
        args_int(pg_args(pg), PG_INT8, a->id);
        args_str(&pg->args, PG_TEXT, buf_str(&a->text));
        pg_query(pg, "UPDATE question SET answer=$2 WHERE id=$1");
        free_answer(a);
    }
}

static int put_take(struct postgresql_store *s, struct pg *pg)
{
    args_int(pg_args(pg), PG_INT8, (int64_t)s->nodes.member.self);
    return pg_query_prepared(
        pg, "UPDATE question q SET taken=true FROM shard s WHERE s.node=$1"
            " AND q.shard=s.shard AND NOT q.taken RETURNING q.id,q.app_no,q.scope");
}

/* -1: no question waits for an answer. */
static int put_fetch(struct postgresql_store *s, struct pg *pg)
{
    if (!s->questions.waiting)
        return -1;
    args_int(pg_args(pg), PG_INT8, (int64_t)s->nodes.member.self);
    return pg_query(pg, "DELETE FROM question WHERE asker=$1 AND answer IS NOT NULL"
                        " RETURNING id,answer");
}

static struct str find_answer(const PGresult *r, int64_t id)
{
    for (int i = 0; r && i < PQntuples(r); i++)
        if (pg_int(r, i, 0) == id)
            return pg_str(r, i, 1);
    return STR_NONE;
}

/* Ends the questions of a list that have an answer or have timed out. */
static void end_some(struct store_question **list, const PGresult *answers)
{
    int64_t now = env_mono_ms(env_real());
    for (struct store_question **at = list; *at;) {
        struct store_question *question = *at;
        struct str answer = find_answer(answers, question->id);
        if (!answer.p && now < question->until_mono_ms) {
            at = &question->next;
            continue;
        }
        *at = question->next;
        finish(question, answer);
    }
}

void questions_expire(struct pg_questions *q)
{
    pthread_mutex_lock(&q->lock);
    end_some(&q->asked, NULL);
    pthread_mutex_unlock(&q->lock);
    end_some(&q->waiting, NULL);
}

enum pg_fate questions_step(struct postgresql_store *s, struct pg *pg)
{
    struct pg_questions *q = &s->questions;
    pg_begin_generic(pg);
    put_answers(s, pg);
    put_questions(s, pg);
    int taken = put_take(s, pg), answers = put_fetch(s, pg);
    pg_commit(pg);
    enum pg_fate fate = pg_sync(pg);
    bool good = fate == PG_OK;
    if (good && answers >= 0)
        end_some(&q->waiting, pg_result(pg, answers));
    int count = good ? PQntuples(pg_result(pg, taken)) : 0;
    for (int i = 0; i < count; i++)
        pg_nodes_tell_asked(&s->nodes, pg_int(pg_result(pg, taken), i, 0),
                            (uint32_t)pg_int(pg_result(pg, taken), i, 1),
                            (enum question_scope)pg_int(pg_result(pg, taken), i, 2));
    q->busy = count > 0 || q->waiting != NULL;
    return fate;
}
