/* Sparse bytes, since journal segments are 64 MiB of mostly zeros, and a suite opens hundreds. */
#include "sim_file.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sim_disk.h"

#include <stdlib.h>
#include <string.h>

static bool all_zero(const char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

void sparse_write(struct sparse *s, uint64_t offset, const char *p, size_t n)
{
    if (offset + n > s->bytes)
        s->bytes = offset + n;
    while (n) {
        size_t page = (size_t)(offset / SIM_PAGE_BYTES), at = (size_t)(offset % SIM_PAGE_BYTES);
        size_t piece = SIM_PAGE_BYTES - at < n ? SIM_PAGE_BYTES - at : n;
        bool zeros = !p || all_zero(p, piece);
        if (page >= s->page_count && !zeros) {
            s->pages = xgrow(s->pages, &s->page_capacity, page + 1, sizeof(char *));
            memset(s->pages + s->page_count, 0, (page + 1 - s->page_count) * sizeof(char *));
            s->page_count = page + 1;
        }
        if (page < s->page_count && (s->pages[page] || !zeros)) {
            if (!s->pages[page])
                s->pages[page] = xcalloc(1, SIM_PAGE_BYTES);
            if (zeros)
                memset(s->pages[page] + at, 0, piece);
            else
                memcpy(s->pages[page] + at, p, piece);
        }
        offset += piece;
        n -= piece;
        p = p ? p + piece : NULL;
    }
}

size_t sparse_read(const struct sparse *s, uint64_t offset, char *to, size_t n)
{
    if (offset >= s->bytes)
        return 0;
    if (n > s->bytes - offset)
        n = (size_t)(s->bytes - offset);
    for (size_t done = 0; done < n;) {
        size_t page = (size_t)(offset / SIM_PAGE_BYTES), at = (size_t)(offset % SIM_PAGE_BYTES);
        size_t piece = SIM_PAGE_BYTES - at < n - done ? SIM_PAGE_BYTES - at : n - done;
        if (page < s->page_count && s->pages[page])
            memcpy(to + done, s->pages[page] + at, piece);
        else
            memset(to + done, 0, piece);
        done += piece;
        offset += piece;
    }
    return n;
}

void sparse_truncate(struct sparse *s, uint64_t bytes)
{
    if (bytes < s->bytes) {
        /* What grows again is zero. */
        uint64_t upto = (uint64_t)s->page_count * SIM_PAGE_BYTES;
        if (bytes < upto)
            sparse_write(s, bytes, NULL, (size_t)(upto - bytes));
    }
    s->bytes = bytes;
}

void sparse_free(struct sparse *s)
{
    for (size_t i = 0; i < s->page_count; i++)
        free(s->pages[i]);
    free(s->pages);
    *s = (struct sparse){0};
}

void sparse_copy(struct sparse *to, const struct sparse *from)
{
    sparse_free(to);
    for (size_t i = 0; i < from->page_count; i++)
        if (from->pages[i])
            sparse_write(to, (uint64_t)i * SIM_PAGE_BYTES, from->pages[i], SIM_PAGE_BYTES);
    to->bytes = from->bytes;
}

static void remember(struct sim_file *f, struct sim_change change)
{
    *ARRAY_PUSH(f->changes, f->change_count, f->change_capacity) = change;
}

void sim_file_write(struct sim_file *f, uint64_t offset, const char *p, size_t n, uint64_t when)
{
    sparse_write(&f->now, offset, p, n);
    char *copy = NULL;
    if (!all_zero(p, n)) {
        copy = xmalloc(n);
        memcpy(copy, p, n);
    }
    remember(f, (struct sim_change){false, offset, n, copy, when});
}

void sim_file_truncate(struct sim_file *f, uint64_t bytes, uint64_t when)
{
    sparse_truncate(&f->now, bytes);
    remember(f, (struct sim_change){true, bytes, 0, NULL, when});
}

static void apply(struct sparse *to, const struct sim_change *c)
{
    if (c->is_truncate)
        sparse_truncate(to, c->offset);
    else
        sparse_write(to, c->offset, c->data, c->n);
}

void sim_file_forget(struct sim_file *f)
{
    for (size_t i = 0; i < f->change_count; i++)
        free(f->changes[i].data);
    f->change_count = 0;
}

void sim_file_settle(struct sim_file *f)
{
    for (size_t i = 0; i < f->change_count; i++)
        apply(&f->durable, &f->changes[i]);
    sim_file_forget(f);
}

void sim_file_arrive(struct sim_file *f, const struct sim_change *c, bool (*keeps)(void *context),
                     void *context)
{
    if (c->is_truncate) {
        if (keeps(context))
            apply(&f->durable, c);
        return;
    }
    for (size_t at = 0; at < c->n;) {
        size_t piece = SIM_SECTOR_BYTES - (size_t)((c->offset + at) % SIM_SECTOR_BYTES);
        if (piece > c->n - at)
            piece = c->n - at;
        if (keeps(context))
            sparse_write(&f->durable, c->offset + at, c->data ? c->data + at : NULL, piece);
        at += piece;
    }
}

void sim_file_free(struct sim_file *f)
{
    ASSERT(f->shared == NULL);
    sim_file_forget(f);
    free(f->changes);
    free(f->path);
    sparse_free(&f->now);
    sparse_free(&f->durable);
    free(f);
}
