/* Packing keys of events into pages (pack_keys.h). */
#include "store/postgresql/pack_keys.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/postgresql/pg_migrate.h"

#include <stdlib.h>

#define SLICE_KEYS 2048 /* some 250 pages of an account that is packed for the ninth time */

static const struct key128 last_key = {UINT64_MAX, UINT64_MAX};

void key_packer_free(struct key_packer *p)
{
    free(p->keys);
    buf_free(&p->page);
    table_free(&p->table);
    *p = (struct key_packer){0};
}

/* The next account, by number, that has enough keys to pack; after the last one comes the first. */
static enum pg_fate find_account(struct pg *pg, struct key_packer *p, bool any)
{
    pg_begin(pg, true);
    args_int(pg_args(pg), PG_INT8, any ? 1 : PACK_LEAST);
    args_int(&pg->args, PG_INT8, any ? INT64_MAX : PACK_SHARE);
    args_int(&pg->args, PG_INT4, p->account_no);
    int at = pg_query(pg, "SELECT a.account_no,a.last_event_no FROM account a LEFT JOIN key_pack k"
                          " ON k.account_no=a.account_no WHERE a.last_event_no"
                          "-coalesce(k.last_event_no,0)>=greatest($1,coalesce(k.packed,0)/$2)"
                          " ORDER BY a.account_no<=$3,a.account_no LIMIT 1");
    enum pg_fate fate = pg_end_read(pg);
    if (fate != PG_OK || PQntuples(pg_result(pg, at)) == 0)
        return fate;
    p->account_no = (uint32_t)pg_int(pg_result(pg, at), 0, 0);
    p->last_event_no = pg_int(pg_result(pg, at), 0, 1);
    p->from = (struct key128){0};
    p->under_way = true;
    return PG_OK;
}

static struct key128 read_key(const PGresult *r, int row)
{
    struct str bytes = pg_str(r, row, 0);
    ASSERT(bytes.n == sizeof(struct key128));
    return (struct key128){get_be64(bytes.p), get_be64(bytes.p + 8)};
}

/* Locks the account's row, and finds the slice's first and last key. *ret_found 0: none is left. */
static enum pg_fate find_slice(struct pg *pg, const struct key_packer *p, struct key128 *ret_first,
                               struct key128 *ret_last, int *ret_found)
{
    pg_begin(pg, false);
    args_int(pg_args(pg), PG_INT4, p->account_no);
    pg_query(pg, "INSERT INTO key_pack VALUES($1,0,0) ON CONFLICT(account_no)"
                 " DO UPDATE SET packed=key_pack.packed");
    args_int(pg_args(pg), PG_INT4, p->account_no);
    args_key(&pg->args, p->from);
    args_int(&pg->args, PG_INT4, SLICE_KEYS);
    int at = pg_query(pg, "SELECT key FROM event_key WHERE account_no=$1 AND key>=$2"
                          " ORDER BY key LIMIT $3");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    *ret_found = PQntuples(pg_result(pg, at));
    if (*ret_found > 0) {
        *ret_first = read_key(pg_result(pg, at), 0);
        *ret_last = read_key(pg_result(pg, at), *ret_found - 1);
    }
    return PG_OK;
}

static struct packed_key *room_for(struct key_packer *p, size_t more)
{
    p->keys = xgrow(p->keys, &p->capacity, p->count + more, sizeof *p->keys);
    return p->keys + p->count;
}

static void read_rows(struct key_packer *p, const PGresult *r)
{
    int n = PQntuples(r);
    struct packed_key *keys = room_for(p, (size_t)n);
    for (int i = 0; i < n; i++)
        keys[i] = (struct packed_key){read_key(r, i), (uint64_t)pg_int(r, i, 1),
                                      (uint64_t)pg_int(r, i, 2)};
    p->count += (size_t)n;
}

static bool read_pages(struct key_packer *p, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++) {
        size_t n = key_page_read(pg_str(r, i, 0), room_for(p, KEY_PAGE_MOST));
        if (n == 0)
            return false;
        p->count += n;
    }
    return true;
}

/* True if each key is there once, and each number fits. */
static bool is_sound(const struct key_packer *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->keys[i].event_no >> KEY_EVENT_NO_BITS != 0 ||
            (i > 0 && key128_eq(p->keys[i - 1].key, p->keys[i].key)))
            return false;
    return true;
}

static enum pg_fate refuse(struct pg *pg, uint32_t account_no, const char *what)
{
    (void)pg_refuse(pg, "the keys of account %u stay as they are: %s", account_no, what);
    return PG_REFUSED;
}

/* Takes the keys from the first to the last, and the pages that these fall between, out of their
 * tables, in order. *ret_new: how many of them were not packed before. */
static enum pg_fate take_out(struct pg *pg, struct key_packer *p, struct key128 first,
                             struct key128 last, size_t *ret_new)
{
    args_int(pg_args(pg), PG_INT4, p->account_no);
    args_key(&pg->args, first);
    args_key(&pg->args, last);
    int rows = pg_query(pg, "DELETE FROM event_key WHERE account_no=$1 AND key>=$2 AND key<=$3"
                            " RETURNING key,content,event_no");
    args_int(pg_args(pg), PG_INT4, p->account_no);
    args_key(&pg->args, first);
    args_key(&pg->args, last);
    int pages = pg_query(pg, "DELETE FROM key_page WHERE account_no=$1 AND first<=$3 AND"
                             " first>=coalesce((SELECT first FROM key_page WHERE account_no=$1"
                             " AND first<=$2 ORDER BY first DESC LIMIT 1),$2) RETURNING keys");
    enum pg_fate fate = pg_sync(pg);
    if (fate != PG_OK)
        return fate;
    p->count = 0;
    read_rows(p, pg_result(pg, rows));
    *ret_new = p->count;
    if (!read_pages(p, pg_result(pg, pages)))
        return refuse(pg, p->account_no, "a row of key_page is damaged");
    qsort(p->keys, p->count, sizeof *p->keys, packed_key_compare);
    return is_sound(p)
               ? PG_OK
               : refuse(pg, p->account_no, "one is there twice, or its number is too large");
}

/* As many pages as are needed, all about equally full. */
static void put_pages(struct pg *pg, struct key_packer *p)
{
    size_t pages = (p->count + KEY_PAGE_MOST - 1) / KEY_PAGE_MOST;
    table_begin(&p->table, "iuy");
    for (size_t i = 0; i < pages; i++) {
        size_t begin = p->count * i / pages, end = p->count * (i + 1) / pages;
        buf_clear(&p->page);
        key_page_add(&p->page, p->keys + begin, end - begin);
        column_int(&p->table.columns[0], p->account_no);
        column_key(&p->table.columns[1], p->keys[begin].key);
        column_str(&p->table.columns[2], buf_str(&p->page));
    }
    args_table(pg_args(pg), &p->table);
    pg_query(pg, "INSERT INTO key_page SELECT * FROM unnest($1,$2,$3)");
}

static enum pg_fate end_slice(struct pg *pg, struct key_packer *p, size_t packed, bool is_last)
{
    args_int(pg_args(pg), PG_INT4, p->account_no);
    args_int(&pg->args, PG_INT8, (int64_t)packed);
    args_int(&pg->args, PG_INT8, is_last ? p->last_event_no : 0);
    pg_query(pg, "UPDATE key_pack SET packed=packed+$2,last_event_no=greatest(last_event_no,$3)"
                 " WHERE account_no=$1");
    pg_commit(pg);
    return pg_sync(pg);
}

static enum pg_fate pack_slice(struct pg *pg, struct key_packer *p)
{
    struct key128 first, last = last_key;
    size_t packed = 0;
    int found;
    enum pg_fate fate = find_slice(pg, p, &first, &last, &found);
    if (fate == PG_OK && found > 0)
        fate = take_out(pg, p, first, last, &packed);
    if (fate != PG_OK)
        return fate;
    if (found > 0)
        put_pages(pg, p);
    bool is_last = found < SLICE_KEYS || key128_eq(last, last_key);
    fate = end_slice(pg, p, packed, is_last);
    if (fate != PG_OK)
        return fate;
    p->from = (struct key128){last.hi + (last.lo == UINT64_MAX), last.lo + 1};
    p->under_way = !is_last;
    return PG_OK;
}

enum pg_fate pack_keys(struct pg *pg, struct key_packer *p, bool any, bool *ret_idle)
{
    enum pg_fate fate = PG_OK;
    *ret_idle = false;
    if (!p->under_way)
        fate = find_account(pg, p, any);
    if (fate != PG_OK)
        return fate;
    *ret_idle = !p->under_way;
    if (*ret_idle)
        return PG_OK;
    fate = pack_slice(pg, p);
    if (fate == PG_REFUSED)
        p->under_way = false;
    return fate;
}
