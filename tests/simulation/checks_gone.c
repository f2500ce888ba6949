/* That only five different callbacks in a row that were answered 410 disable a lane. */
#include "sim.h"

/* Of the lane's present URL. A URL that was changed and changed back at once may never have reached
 * the lane, so that a run goes on; the checker's is never the shorter one. */
void checks_follow_gone(const struct sim *sim, const struct delivery_attempt *t,
                        struct lane_witness *l)
{
    const struct app_choice *c = &sim->choices[lane_app_no(t->lane->no) - 1];
    int host = url_host(t->x.url);
    if (t->x.class != ATTEMPT_GONE) {
        l->gone_count = 0;
        return;
    }
    if (c->host[lane_kind_of(t->lane->no)] != host)
        return;
    if (host != l->gone_host)
        l->gone_count = 0;
    l->gone_host = host;
    for (int32_t i = 0; i < l->gone_count; i++)
        if (l->gone_nos[i] == t->callback->event_no)
            return;
    if (l->gone_count < 5)
        l->gone_nos[l->gone_count++] = t->callback->event_no;
}

void checks_disabling(struct sim *sim, lane_no lane)
{
    struct lane_witness *l = &sim->lanes[lane];
    if (l->gone_count < 5)
        sim_found(sim, CHECK_GONE, "lane %llu is disabled by %d callbacks answered 410",
                  (unsigned long long)lane, l->gone_count);
    l->gone = true;
    l->gone_count = 0;
}
