/* Reference-counted blocks; see entry.h. The texts of a struct are found by a list of their
 * offsets, so that one function copies every kind of entry. A block is wiped before it is freed,
 * because an app's block has its Callback Secret. */
#include "accounts/entry.h"

#include "base/alloc.h"

#include <sodium.h>
#include <stdlib.h>

struct block {
    size_t bytes;
    size_t pad; /* keeps the entry 16-aligned */
};

_Static_assert(offsetof(struct partner, refs) == offsetof(struct app, refs) &&
                   offsetof(struct partner, refs) == offsetof(struct client, refs) &&
                   offsetof(struct partner, refs) == offsetof(struct api_key, refs),
               "entries begin alike");

static atomic_uint *entry_refs(void *entry)
{
    return (atomic_uint *)(void *)((char *)entry + offsetof(struct partner, refs));
}

static struct str *text_at(void *entry, size_t offset)
{
    return (struct str *)(void *)((char *)entry + offset);
}

void *entry_pack(const void *from, size_t bytes, uint32_t magic, const size_t *texts,
                 size_t text_count)
{
    struct str text;
    size_t all = sizeof(struct block) + bytes;
    for (size_t i = 0; i < text_count; i++) {
        memcpy(&text, (const char *)from + texts[i], sizeof text);
        all += text.n + 1;
    }
    struct block *block = xmalloc(all);
    block->bytes = all;
    char *entry = (char *)(block + 1);
    memcpy(entry, from, bytes);
    char *at = entry + bytes;
    for (size_t i = 0; i < text_count; i++) {
        struct str *to = text_at(entry, texts[i]);
        if (!to->p)
            continue;
        if (to->n)
            memcpy(at, to->p, to->n);
        at[to->n] = '\0';
        to->p = at;
        at += to->n + 1;
    }
    memcpy(entry, &magic, sizeof magic);
    atomic_init(entry_refs(entry), 1);
    return entry;
}

void *entry_ref(void *entry)
{
    unsigned before = atomic_fetch_add_explicit(entry_refs(entry), 1, memory_order_relaxed);
    ASSERT(before > 0);
    return entry;
}

void entry_unref(void *entry)
{
    if (!entry)
        return;
    unsigned before = atomic_fetch_sub_explicit(entry_refs(entry), 1, memory_order_acq_rel);
    ASSERT(before > 0);
    if (before > 1)
        return;
    struct block *block = (struct block *)entry - 1;
    sodium_memzero(entry, block->bytes - sizeof *block);
    free(block);
}

_Static_assert(LIMIT_OLDER_SECRETS == 4, "SECRET_TEXTS names each");
#define SECRET_TEXTS(at)                                                                           \
    (at) + offsetof(struct secrets, newest), (at) + offsetof(struct secrets, older[0].text),       \
        (at) + offsetof(struct secrets, older[1].text),                                            \
        (at) + offsetof(struct secrets, older[2].text),                                            \
        (at) + offsetof(struct secrets, older[3].text)

struct partner *partner_pack(const struct partner *from)
{
    static const size_t texts[] = {offsetof(struct partner, id), offsetof(struct partner, name),
                                   offsetof(struct partner, operations_url),
                                   offsetof(struct partner, operations_email),
                                   SECRET_TEXTS(offsetof(struct partner, operations_secrets))};
    return entry_pack(from, sizeof *from, PARTNER_MAGIC, texts, ARRAY_LEN(texts));
}

struct client *client_pack(const struct client *from)
{
    static const size_t texts[] = {offsetof(struct client, id), offsetof(struct client, name),
                                   offsetof(struct client, app_id)};
    return entry_pack(from, sizeof *from, CLIENT_MAGIC, texts, ARRAY_LEN(texts));
}

struct api_key *api_key_pack(const struct api_key *from)
{
    static const size_t texts[] = {offsetof(struct api_key, id), offsetof(struct api_key, name),
                                   offsetof(struct api_key, person)};
    return entry_pack(from, sizeof *from, API_KEY_MAGIC, texts, ARRAY_LEN(texts));
}

#define URL_TEXTS(kind)                                                                            \
    offsetof(struct app, url[kind]), offsetof(struct app, parsed[kind].host),                      \
        offsetof(struct app, parsed[kind].target), offsetof(struct app, parsed[kind].userinfo)

bool app_pack(const struct app *from, struct app **ret_app, const char **ret_why)
{
    static const size_t texts[] = {
        offsetof(struct app, id),
        offsetof(struct app, name),
        offsetof(struct app, partner_id),
        offsetof(struct app, currency_text),
        offsetof(struct app, success_answer.text),
        offsetof(struct app, success_answer.field),
        SECRET_TEXTS(offsetof(struct app, secrets)),
        offsetof(struct app, certificate.pem),
        offsetof(struct app, certificate.key),
        offsetof(struct app, certificate.subject),
        URL_TEXTS(LANE_SUCCESS),
        URL_TEXTS(LANE_FAILURE),
        URL_TEXTS(LANE_OFFER),
        URL_TEXTS(LANE_TEST),
    };
    struct arena arena = {0};
    struct app filled;
    memcpy(&filled, from, sizeof filled);
    bool good = true;
    for (int kind = 0; kind < LANE_KINDS && good; kind++) {
        filled.parsed[kind] = (struct url){0};
        filled.terms.has_url[kind] = kind != LANE_NONE && filled.url[kind].p;
        if (filled.terms.has_url[kind])
            good = url_parse(&arena, filled.url[kind], &filled.parsed[kind], ret_why);
    }
    if (good)
        *ret_app = entry_pack(&filled, sizeof filled, APP_MAGIC, texts, ARRAY_LEN(texts));
    arena_free(&arena);
    return good;
}

void partner_unref(struct partner *p)
{
    entry_unref(p);
}

void app_unref(struct app *a)
{
    entry_unref(a);
}

void client_unref(struct client *c)
{
    entry_unref(c);
}

void api_key_unref(struct api_key *k)
{
    entry_unref(k);
}
