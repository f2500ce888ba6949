/* A slice that the store refuses is tried again at the next step: an entry stays marked until its
 * new document is durable. */
#include "services/reseal.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdatomic.h>
#include <stdlib.h>

#define RESEAL_MAGIC 0x5EA15EA1u
#define ENTRIES_PER_SLICE 32

struct reseal {
    uint32_t magic;
    struct control *control;
    struct accounts *accounts;
    struct people *people;
    struct task slice;
    int64_t done;        /* entries; the control thread's */
    atomic_bool running; /* a slice is posted */
    atomic_bool over;    /* nothing is left */
};

static enum store_status reseal_account(struct reseal *r, bool *ret_found)
{
    struct change change;
    *ret_found = change_reseal(r->accounts, &change);
    if (!*ret_found)
        return STORE_OK;
    enum store_status status = control_change_silently(r->control, &change);
    change_free(r->accounts, &change);
    return status;
}

static enum store_status reseal_person(struct reseal *r, bool *ret_found)
{
    struct people_change change = {0};
    *ret_found = people_reseal(r->people, &change);
    if (!*ret_found)
        return STORE_OK;
    enum store_status status = control_change_people(r->control, r->people, NULL, NULL, &change);
    people_change_free(&change);
    return status;
}

static void run_slice(struct task *task)
{
    struct reseal *r = CONTAINER_OF(task, struct reseal, slice);
    CHECK_MAGIC(r, RESEAL_MAGIC);
    enum store_status status = STORE_OK;
    bool found = true;
    control_catch_up(r->control);
    for (int i = 0; i < ENTRIES_PER_SLICE && found && status == STORE_OK; i++) {
        status = reseal_account(r, &found);
        if (!found)
            status = reseal_person(r, &found);
        r->done += found && status == STORE_OK;
    }
    if (!found && r->done > 0)
        log_info("master_key_changed", LOG_INT("entries", r->done),
                 LOG_C("next", "start every node without POSTBACKD_SECOND_MASTER_KEY"));
    if (!found)
        atomic_store(&r->over, true);
    atomic_store(&r->running, false);
}

struct reseal *reseal_new(struct control *control, struct accounts *accounts, struct people *people)
{
    struct reseal *r = xcalloc(1, sizeof *r);
    r->magic = RESEAL_MAGIC;
    r->control = control;
    r->accounts = accounts;
    r->people = people;
    r->slice.run = run_slice;
    r->slice.owner = OWNER_DAEMON;
    return r;
}

void reseal_step(struct reseal *r)
{
    CHECK_MAGIC(r, RESEAL_MAGIC);
    if (!atomic_load(&r->over) && !atomic_exchange(&r->running, true))
        control_post(r->control, &r->slice);
}

void reseal_free(struct reseal *r)
{
    if (!r)
        return;
    CHECK_MAGIC(r, RESEAL_MAGIC);
    free(r);
}
