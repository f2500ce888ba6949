/* The header Idempotency-Key: reads it, hashes it together with the caller, and judges it.
 * services/idempotency_records.h says how long a key is kept. Another request under the same key is
 * 409, as every conflict is (the IETF draft of that name suggests 422). A repetition that comes
 * while the first request is under way waits for it, because the control thread (on several nodes
 * the store) takes changes one after the other. */
#include "api/idempotency_header.h"

#include "api/internal.h"
#include "api/route.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

#define KEY_CHARS_MOST 255

static bool is_key(struct str text)
{
    bool good = text.n > 0 && text.n <= KEY_CHARS_MOST;
    for (size_t i = 0; good && i < text.n; i++)
        good = text.p[i] > ' ' && text.p[i] <= '~';
    return good;
}

/* Only the last part may contain U+0000. */
static void print_hash(const struct call *c, const struct str parts[3], char *ret_hex)
{
    struct buf text = {0};
    for (size_t i = 0; i < 3; i++) {
        buf_add_str(&text, parts[i]);
        buf_add_char(&text, '\0');
    }
    struct key128 hash = hash_key128(c->api->options.hash_secret, text.p, text.n);
    snprintf(ret_hex, IDEMPOTENCY_HASH_CHARS + 1, "%016" PRIx64 "%016" PRIx64, hash.hi, hash.lo);
    buf_free(&text);
}

bool idempotency_read(struct call *c)
{
    struct str text = http_header_list(c->r, "idempotency-key");
    if (!text.p || !(c->route->flags & ROUTE_MAKES))
        return true;
    if (!is_key(text)) {
        call_answer_problem(c, 400, "Idempotency-Key must be 1 to %d visible ASCII characters.",
                            KEY_CHARS_MOST);
        return false;
    }
    struct idempotency_key *key = call_alloc(c, sizeof *key);
    char account[12];
    /* A key or user of another account may have the same id. */
    snprintf(account, sizeof account, "%u", c->key_account_no);
    const struct str owner[] = {c->person.user_id.p ? STR("user") : STR("key"), c->key_id,
                                str_of(account)};
    const struct str what[] = {str_of(c->route->id), text, STR_NONE};
    const struct str request[] = {c->r->path, c->r->query, c->r->body};
    key->account_no = c->key_account_no;
    print_hash(c, owner, key->id);
    print_hash(c, what, key->id + IDEMPOTENCY_HASH_CHARS);
    print_hash(c, request, key->request);
    c->idempotency_key = key;
    return true;
}

bool idempotency_judge(struct control *control, struct call *c)
{
    if (!c->idempotency_key || idempotency_find(control_idempotency(control), c->idempotency_key))
        return true;
    c->refusal.status = 409;
    c->refusal.detail = "This Idempotency-Key was sent with another request: its path, query or "
                        "body differs. Use a new key for each request, and the same key only to "
                        "repeat one unchanged.";
    return false;
}

struct str idempotency_made(const struct call *c)
{
    const struct idempotency_key *key = c->idempotency_key;
    return key && key->made[0] ? str_of(key->made) : STR_NONE;
}

bool idempotency_refuse_gone(struct call *c)
{
    c->refusal.status = 409;
    c->refusal.detail = "What the first request with this Idempotency-Key created has been removed "
                        "since. Use a new key to create another one.";
    return false;
}

void idempotency_print_header(const struct call *c, struct buf *headers)
{
    if (idempotency_made(c).p)
        buf_add_c(headers, "Idempotency-Replayed: true\r\n");
}
