/* GET /healthz (the process answers) and /readyz (the store is reachable and accepting).
 *
 * Books that do not balance are a failure that restarting does not mend and that must not stop
 * delivery: both probes keep their status and say in Failures what is wrong. */
#include "api/books_watch.h"
#include "api/internal.h"
#include "api/route.h"

static void answer_probe(struct call *c, const char *good)
{
    struct books_state books;
    books_watch_get(c->api->options.books, &books);
    struct buf body = {0};
    struct json_writer w;
    json_write_to(&w, &body);
    json_object(&w);
    json_key(&w, "Status");
    json_c(&w, books.wrong_days > 0 ? "failing" : good);
    if (books.wrong_days > 0) {
        json_key(&w, "Failures");
        json_array(&w);
        json_object(&w);
        json_key(&w, "Check");
        json_c(&w, "books");
        json_key(&w, "Detail");
        json_c(&w, books.wrong_example);
        json_end_object(&w);
        json_end_array(&w);
    }
    json_end_object(&w);
    call_answer_json(c, 200, &body);
    buf_free(&body);
}

void probe_healthz(struct call *c)
{
    answer_probe(c, "ok");
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
    answer_probe(c, "ready");
}
