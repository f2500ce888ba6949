/* The sums of live streams: an array of apps for each account, so that a stream only handles its
 * own account's apps, however many apps the installation has. */
#include "api/live_sums.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *grow_zeroed(void *p, size_t *capacity, size_t want, size_t size)
{
    size_t before = *capacity;
    if (want <= before)
        return p;
    char *grown = xgrow(p, capacity, want, size);
    memset(grown + before * size, 0, (*capacity - before) * size);
    return grown;
}

void live_sums_free(struct live_sums *sums)
{
    for (size_t i = 0; i < sums->account_capacity; i++)
        free(sums->accounts[i].apps);
    free(sums->accounts);
    free(sums->places);
}

struct live_account *live_sums_account(struct live_sums *sums, uint32_t account_no)
{
    sums->accounts = grow_zeroed(sums->accounts, &sums->account_capacity, (size_t)account_no + 1,
                                 sizeof *sums->accounts);
    return &sums->accounts[account_no];
}

struct live_app *live_sums_app(struct live_sums *sums, uint32_t account_no, uint32_t app_no)
{
    struct live_account *account = live_sums_account(sums, account_no);
    sums->places =
        grow_zeroed(sums->places, &sums->place_capacity, (size_t)app_no + 1, sizeof *sums->places);
    uint32_t *place = &sums->places[app_no];
    if (*place == 0) {
        account->apps =
            xgrow(account->apps, &account->capacity, account->count + 1, sizeof *account->apps);
        account->apps[account->count++] = (struct live_app){.app_no = app_no};
        *place = (uint32_t)account->count;
    }
    bool is_there = *place <= account->count && account->apps[*place - 1].app_no == app_no;
    return is_there ? &account->apps[*place - 1] : NULL;
}

static bool has_news(const struct live_app *now, const struct live_app *sent)
{
    return now->delivered != sent->delivered || now->failed != sent->failed ||
           now->dead != sent->dead || now->skipped != sent->skipped ||
           now->endpoint != sent->endpoint;
}

const struct live_app *live_sent_next(struct live_sent *sent, const struct live_account *account,
                                      size_t *place, struct live_app **ret_sent)
{
    sent->apps = grow_zeroed(sent->apps, &sent->capacity, account->count, sizeof *sent->apps);
    while (*place < account->count) {
        size_t at = (*place)++;
        if (has_news(&account->apps[at], &sent->apps[at])) {
            *ret_sent = &sent->apps[at];
            return &account->apps[at];
        }
    }
    return NULL;
}

void live_sent_free(struct live_sent *sent)
{
    free(sent->apps);
}
