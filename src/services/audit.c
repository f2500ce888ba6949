/* Prints entries; see audit.h. */
#include "services/audit.h"

#include "json/writer.h"

#include <inttypes.h>
#include <stdio.h>

/* Milliseconds in 12 hex digits reach the year 10889. */
static void make_id(struct audit *audit, int64_t now_ms, char ret_id[AUDIT_ID_BYTES + 1])
{
    uint16_t random;
    if (now_ms > audit->last_ms) {
        audit->last_ms = now_ms;
        audit->count = 0;
    } else if (++audit->count > 0xffff) {
        audit->last_ms++;
        audit->count = 0;
    }
    env_random(audit->env, &random, sizeof random); /* a clock that was put back repeats no id */
    snprintf(ret_id, AUDIT_ID_BYTES + 1, "%012" PRIx64 "%04x%04x", (uint64_t)audit->last_ms,
             audit->count, random);
}

static const char *scope_of(uint32_t account_no, char ret[16])
{
    if (account_no)
        snprintf(ret, 16, "p%08x/", account_no);
    else
        snprintf(ret, 16, "a/");
    return ret;
}

void audit_key(char ret_key[AUDIT_KEY_BYTES], uint32_t account_no, int64_t at_ms)
{
    char scope[16];
    snprintf(ret_key, AUDIT_KEY_BYTES, "%s%012" PRIx64, scope_of(account_no, scope),
             (uint64_t)at_ms);
}

struct str audit_id_of_key(struct str key)
{
    const char *end = memchr(key.p, '/', key.n); /* end of the prefix */
    ASSERT(end);
    size_t scope_bytes = (size_t)(end + 1 - key.p);
    return (struct str){key.p + scope_bytes, key.n - scope_bytes};
}

void audit_key_after(char key[AUDIT_KEY_BYTES], struct str id)
{
    struct str time = audit_id_of_key(str_of(key));
    if (str_cmp(id, time) >= 0)
        return;
    size_t scope_bytes = (size_t)(time.p - key);
    ASSERT(scope_bytes + id.n < AUDIT_KEY_BYTES);
    memcpy(key + scope_bytes, id.p, id.n);
    key[scope_bytes + id.n] = '\0';
}

bool audit_is_id(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (hex_value(text.p[i]) < 0)
            return false;
    }
    return text.n == AUDIT_ID_BYTES;
}

/* hidden: a partner does not see the operator's person and address. */
static void print_actor(struct json_writer *w, const struct actor *by, bool hidden)
{
    bool person = by && by->user_id.p;
    const char *kind = !by            ? "postbackd"
                       : hidden       ? "operator"
                       : person       ? "user"
                       : by->key_id.p ? "key"
                                      : "unknown";
    struct str id = !by || hidden ? STR_NONE : person ? by->user_id : by->key_id;
    json_key_object(w, "Actor");
    json_key_c(w, "Kind", kind);
    json_key_string(w, "Id", id);
    json_key_string(w, "Name", person && !hidden ? by->email : STR_NONE);
    json_key_bool(w, "ActingAs", person && by->acting);
    json_end_object(w);
    struct buf peer = {0};
    if (by)
        address_print(&peer, by->peer);
    json_key_string(w, "Address", by && !hidden ? buf_str(&peer) : STR_NONE);
    json_key_string(w, "RequestId", by ? by->request_id : STR_NONE);
    buf_free(&peer);
}

static void print_state(struct json_writer *w, const char *name, const struct buf *json)
{
    json_key(w, name);
    if (json->n)
        json_raw(w, buf_str(json));
    else
        json_null(w);
}

static struct str print_entry(struct audit *audit, const struct actor *by,
                              const struct audit_note *note, const char *id, bool hidden,
                              struct arena *arena)
{
    struct buf to = {0};
    struct partner *partner = directory_partner_by_no(audit->directory, note->account_no);
    struct json_writer w;
    json_write_to(&w, &to);
    json_object(&w);
    json_key_c(&w, "AuditId", id);
    json_key_time(&w, "At", audit->now_ms);
    json_key_c(&w, "Action", note->action);
    json_key(&w, "PartnerId");
    bool is_new = !partner && strcmp(note->object_kind, "partner") == 0; /* not applied yet */
    json_string(&w, partner ? partner->id : is_new ? note->object_id : STR_NONE);
    print_actor(&w, by, hidden);
    json_key_object(&w, "Object");
    json_key_c(&w, "Kind", note->object_kind);
    json_key_string(&w, "Id", note->object_id);
    json_end_object(&w);
    print_state(&w, "Before", &note->before);
    print_state(&w, "After", &note->after);
    json_end_object(&w);
    partner_unref(partner);
    return arena_take(arena, &to);
}

static struct str key_of(struct arena *arena, uint32_t account_no, const char *id)
{
    char scope[16];
    return arena_print(arena, "%s%s", scope_of(account_no, scope), id);
}

size_t audit_parts(struct audit *audit, const struct actor *by, const struct audit_note *note,
                   struct arena *arena, struct object_part ret_parts[AUDIT_PARTS])
{
    char id[AUDIT_ID_BYTES + 1];
    if (!note->action)
        return 0;
    audit->now_ms = env_wall_ms(audit->env);
    make_id(audit, audit->now_ms, id);
    struct str entry = print_entry(audit, by, note, id, false, arena);
    ret_parts[0] = (struct object_part){OBJECT_AUDIT, key_of(arena, 0, id), entry};
    if (!note->account_no)
        return 1;
    bool by_operator = by && (by->is_operator || by->acting);
    if (by_operator)
        entry = print_entry(audit, by, note, id, true, arena);
    ret_parts[1] = (struct object_part){OBJECT_AUDIT, key_of(arena, note->account_no, id), entry};
    return 2;
}

void audit_note_free(struct audit_note *note)
{
    buf_free(&note->before);
    buf_free(&note->after);
}
