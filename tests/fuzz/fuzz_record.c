/* Journal records: whatever is read is printed back as the very bytes it was read from, and no
 * number of it is out of the range that callers index by. */
#include "fuzz.h"

#include "store/journal/record.h"

static void print_back(struct buf *to, const struct record *r)
{
    switch (r->kind) {
    case RECORD_EVENT: record_add_event(to, &r->event); break;
    case RECORD_OUTCOME: record_add_outcome(to, &r->outcome); break;
    case RECORD_OBJECT:
        record_add_object(to, r->object.kind, r->object.id, r->object.document);
        break;
    case RECORD_RESEND: record_add_resend(to, &r->resend); break;
    case RECORD_ERASE: record_add_erase(to, &r->erase); break;
    }
}

static void check_event(const struct event *e)
{
    ASSERT(event_type_name(e->type) != NULL);
    ASSERT(e->state == CALLBACK_NONE || callback_state_name(e->state) != NULL);
    ASSERT(e->signature_offset == 0 || (size_t)e->signature_offset + 32 <= e->body.n);
    ASSERT(e->event_id.n > 0 && e->event_no > 0 && e->reward_decimals <= 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str rest = {(const char *)data, data_bytes};
    struct buf printed = {0};
    struct record r;
    bool bad = false;
    for (;;) {
        const char *from = rest.p;
        if (!record_next(&rest, &r, &bad))
            break;
        ASSERT(rest.p > from && rest.p + rest.n == (const char *)data + data_bytes);
        if (r.kind == RECORD_EVENT)
            check_event(&r.event);
        buf_clear(&printed);
        print_back(&printed, &r);
        ASSERT(printed.n == (size_t)(rest.p - from) && memcmp(printed.p, from, printed.n) == 0);
    }
    ASSERT(bad == (rest.n > 0)); /* everything is either read or called bad */
    buf_free(&printed);
    return 0;
}
