/* GET /healthz (the process answers) and /readyz (the store is reachable and accepting). */
#include "api/internal.h"
#include "api/route.h"

void probe_healthz(struct call *c)
{
    struct buf body = {0};
    buf_add_c(&body, "{\"Status\":\"ok\"}");
    call_answer_json(c, 200, &body);
    buf_free(&body);
}

void probe_readyz(struct call *c)
{
    struct store_numbers n;
    store_get_numbers(c->api->options.store, &n);
    if (!atomic_load(&c->api->accepting)) {
        call_answer_problem(c, 503,
                            "The daemon is starting or stopping; it takes no requests now.");
        return;
    }
    if (!n.accepting) {
        call_answer_problem(c, 503,
                            "The store takes no events now: its bounds are full, or its disk "
                            "refused a write. %lld events are queued.",
                            (long long)n.events_queued);
        return;
    }
    struct buf body = {0};
    buf_add_c(&body, "{\"Status\":\"ready\"}");
    call_answer_json(c, 200, &body);
    buf_free(&body);
}
