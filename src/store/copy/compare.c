/* Reads both stores from end to end, row beside row: a digest of each, and the first difference.
 * The digest is BLAKE2b of the hash secret and the rows' bytes in order (copy_records.h). */
#include "store/copy/sides.h"

#include "base/alloc.h"

#include <sodium.h>

_Static_assert(COPY_DIGEST_BYTES == crypto_generichash_BYTES, "BLAKE2b (RFC 7693), 256 bits");

/* A store that is read row by row. */
struct compared_store {
    struct copy_source *source;
    struct copy_chunk chunk;
    size_t row;
    bool ended;       /* the section is over */
    struct buf bytes; /* of the row; empty at the end */
    crypto_generichash_state digest;
};

static bool begin_section(struct compared_store *r, enum copy_section section)
{
    struct copy_position start = {.section = section};
    r->chunk.count = r->row = 0;
    r->ended = false;
    return r->source->ops->seek(r->source, &start);
}

static bool next_row(struct compared_store *r)
{
    buf_clear(&r->bytes);
    if (r->ended)
        return true;
    if (r->row == r->chunk.count) {
        r->row = 0;
        if (!r->source->ops->read(r->source, &r->chunk))
            return false;
    }
    r->ended = r->chunk.count == 0;
    if (r->ended)
        return true;
    copy_encode(&r->chunk, r->row++, &r->bytes);
    (void)crypto_generichash_update(&r->digest, (const unsigned char *)r->bytes.p, r->bytes.n);
    return true;
}

static void count_row(const struct copy_chunk *c, size_t row, struct copy_counts *counts)
{
    counts->objects += c->section == COPY_OBJECTS;
    counts->reports += c->section == COPY_REPORTS;
    counts->books += c->section == COPY_BOOKS;
    if (c->section != COPY_EVENTS)
        return;
    counts->events++;
    counts->bodies += c->events[row].event.body.p != NULL;
    counts->attempts += (int64_t)c->events[row].log_count;
}

static void note_difference(struct compared_store sides[2], struct copy_result *ret)
{
    struct buf text = {0};
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            buf_add_c(&text, " in the source, ");
        if (sides[i].bytes.n > 0)
            copy_name_row(&sides[i].chunk, sides[i].row - 1, &text);
        else
            buf_add_c(&text, "nothing");
    }
    buf_add_c(&text, " in the target");
    ret->difference = xstrdup(buf_c(&text));
    buf_free(&text);
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static enum copy_end compare_section(const struct copy_options *options,
                                     struct compared_store sides[2], enum copy_section section,
                                     struct copy_result *ret)
{
    struct copy_progress at = {.comparing = true, .of = sides[0].source->events};
    for (int i = 0; i < 2; i++)
        if (!begin_section(&sides[i], section))
            return COPY_FAILED;
    for (int64_t rows = 1;; rows++) {
        if (!next_row(&sides[0]) || !next_row(&sides[1]))
            return COPY_FAILED;
        if (sides[0].bytes.n == 0 && sides[1].bytes.n == 0)
            return COPY_EQUAL;
        if (!ret->difference && !same(&sides[0].bytes, &sides[1].bytes))
            note_difference(sides, ret);
        if (sides[0].bytes.n > 0)
            count_row(&sides[0].chunk, sides[0].row - 1, &ret->counts);
        at.done = ret->counts.events;
        if (rows % COPY_CHUNK_ROWS == 0 && options->goes_on &&
            !options->goes_on(options->context, &at))
            return COPY_STOPPED;
    }
}

enum copy_end copy_compare(const struct copy_options *options, struct copy_source *sources[2],
                           struct copy_result *ret)
{
    struct compared_store sides[2] = {{.source = sources[0]}, {.source = sources[1]}};
    enum copy_end end = COPY_EQUAL;
    for (int i = 0; i < 2; i++) {
        const struct hash_secret *secret = &sources[i]->secret;
        (void)crypto_generichash_init(&sides[i].digest, NULL, 0, COPY_DIGEST_BYTES);
        (void)crypto_generichash_update(&sides[i].digest, secret->bytes, sizeof secret->bytes);
    }
    for (enum copy_section s = COPY_OBJECTS; end == COPY_EQUAL && s < COPY_SECTION_END; s++)
        end = compare_section(options, sides, s, ret);
    for (int i = 0; i < 2; i++) {
        (void)crypto_generichash_final(&sides[i].digest, ret->digests[i], COPY_DIGEST_BYTES);
        arena_free(&sides[i].chunk.arena);
        buf_free(&sides[i].bytes);
    }
    if (end == COPY_EQUAL && memcmp(ret->digests[0], ret->digests[1], COPY_DIGEST_BYTES) != 0)
        end = COPY_DIFFERENT;
    if (end == COPY_DIFFERENT && !ret->difference)
        ret->difference = xstrdup("the keys of the hashes");
    return end;
}
