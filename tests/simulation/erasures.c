/* A panelist is erased: in the store at once, then in delivery, which answers when nothing of it
 * can be sent any more but what is under way. Events that come later are nobody's business here. */
#include "sim.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

struct erasure {
    struct delivery_erase erase;
    struct sim *sim;
    size_t before; /* events of the account that were there */
    uint8_t panelist;
    char id[8];
};

static void mark(struct sim *sim, uint32_t account_no, size_t before, uint8_t panelist, bool gone)
{
    for (size_t i = 0; i < before; i++) {
        struct witness *w = sim_witness(sim, account_no, i + 1);
        if (w->panelist != panelist)
            continue;
        sim_watch(sim, account_no, i + 1, gone ? "it has left memory" : "it is erased");
        if (gone) {
            w->erased = true;
            continue;
        }
        const struct entry *e = late_store_entry(sim, account_no, i + 1);
        w->is_erased = true;
        if (w->state == CALLBACK_PENDING)
            w->state = CALLBACK_SKIPPED;
        w->owed = w->asked = w->asked_meanwhile = false;
        w->was_final |= e->life.state != CALLBACK_PENDING;
    }
}

static void gone(struct task *task)
{
    struct erasure *e =
        CONTAINER_OF(CONTAINER_OF(task, struct delivery_erase, done), struct erasure, erase);
    mark(e->sim, e->erase.account_no, e->before, e->panelist, true);
    free(e);
}

static void ignore(struct executor *executor, struct task *task)
{
    (void)executor;
    (void)task;
}
static struct executor nobody = {ignore};

static void run_nothing(struct task *task)
{
    (void)task;
}

void erasures_begin(struct sim *sim, uint32_t account_no, uint8_t panelist)
{
    struct shard *shard = &sim->shards[account_no - 1];
    struct erasure *e = xcalloc(1, sizeof(*e));
    e->sim = sim;
    e->before = shard->count;
    e->panelist = panelist;
    snprintf(e->id, sizeof(e->id), "p%d", panelist);
    struct erase erase = {.done.run = run_nothing,
                          .reply_to = &nobody,
                          .account_no = account_no,
                          .panelist_id = str_of(e->id)};
    store_erase(shard->store, &erase);
    ASSERT(erase.status == STORE_OK);
    mark(sim, account_no, e->before, panelist, false);
    sim->erasures++;
    sim_trace(sim, "panelist %s of account %u is erased: %lld events", e->id, account_no,
              (long long)erase.erased);
    e->erase.done.run = gone;
    e->erase.reply_to = &sim->loops[0].executor;
    e->erase.account_no = account_no;
    e->erase.panelist_id = str_of(e->id);
    delivery_erase(sim->delivery, &e->erase);
}
