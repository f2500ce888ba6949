/* Blocks of sorted records: see run.h. */
#include "store/sqlite/run.h"

#include "base/check.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are stored as they lie");
_Static_assert(sizeof(struct key_record) == 32, "no padding");
_Static_assert(sizeof(struct panelist_record) == 16, "no padding");

size_t run_width(enum run_kind kind)
{
    return kind == RUN_KEYS ? sizeof(struct key_record) : sizeof(struct panelist_record);
}

const char *run_table(enum run_kind kind)
{
    return kind == RUN_KEYS ? "keys" : "panelists";
}

static struct run_place place_of(const void *record)
{
    struct run_place place;
    memcpy(&place, record, sizeof place);
    return place;
}

static bool is_before(struct run_place a, struct run_place b)
{
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

/* --- reading ------------------------------------------------------------------------------------
 */

bool run_block_good(struct sql *q, enum run_kind kind, struct str block)
{
    bool good = block.n > 0 && block.n % run_width(kind) == 0;
    if (!good)
        sql_damaged(q, kind == RUN_KEYS ? "a block of keys has an impossible length"
                                        : "a block of panelists has an impossible length");
    return good;
}

size_t run_block_count(enum run_kind kind, struct str block)
{
    return block.n / run_width(kind);
}

struct run_place run_block_place(enum run_kind kind, struct str block, size_t at)
{
    return place_of(block.p + at * run_width(kind));
}

size_t run_block_find(enum run_kind kind, struct str block, struct run_place place)
{
    size_t low = 0, high = run_block_count(kind, block);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_before(run_block_place(kind, block, middle), place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

sqlite3_stmt *run_prepare_find(struct sql *q, uint32_t set)
{
    return sql_prepare_f(q,
                         "SELECT (SELECT block FROM keys_%u WHERE id>=no<<%d AND id<=(no<<%d)+?"
                         " ORDER BY id DESC LIMIT 1) FROM run WHERE set_no=%u",
                         set, RUN_ID_BITS, RUN_ID_BITS, set);
}

static bool find_in_block(struct str block, struct key128 key, struct key_record *ret)
{
    size_t at = run_block_find(RUN_KEYS, block, (struct run_place){key.hi, key.lo});
    if (at == run_block_count(RUN_KEYS, block))
        return false;
    struct key_record r;
    memcpy(&r, block.p + at * sizeof r, sizeof r);
    if (r.key.hi != key.hi || r.key.lo != key.lo)
        return false;
    *ret = r;
    return true;
}

bool run_find_key(struct sql *q, sqlite3_stmt *find, struct key128 key, struct key_record *ret)
{
    bool found = false;
    sql_bind_int(find, 1, run_block_id(0, key.hi));
    while (!found && sql_row(q, find)) {
        struct str block = sql_str(find, 0);
        if (!block.p) /* all keys of the run are greater */
            continue;
        if (!run_block_good(q, RUN_KEYS, block))
            break;
        found = find_in_block(block, key, ret);
    }
    sql_reset(find);
    return found;
}

/* --- writing ------------------------------------------------------------------------------------
 */

void run_writer_begin(struct run_writer *w, struct sql *q, uint32_t set, enum run_kind kind,
                      uint32_t run)
{
    *w = (struct run_writer){.q = q, .kind = kind, .run = run};
    w->add = sql_prepare_f(q, "INSERT OR FAIL INTO %s_%u VALUES(?,?)", run_table(kind), set);
}

static void write_block(struct run_writer *w)
{
    int64_t id = run_block_id(w->run, place_of(w->block.p).major);
    if (id < w->next_id)
        id = w->next_id;
    w->next_id = id + 1;
    sql_bind_int(w->add, 1, id);
    sql_bind_blob(w->add, 2, buf_str(&w->block));
    sql_run(w->q, w->add);
    buf_clear(&w->block);
}

void run_writer_add(struct run_writer *w, const void *record)
{
    size_t width = run_width(w->kind);
    if (w->block.n > 0) {
        struct run_place last = place_of(w->block.p + w->block.n - width), next = place_of(record);
        bool full = w->block.n + width > RUN_BLOCK_BYTES;
        if (!is_before(last, next))
            sql_damaged(w->q, w->kind == RUN_KEYS
                                  ? "a key is stored twice, or keys are out of order"
                                  : "a panelist's event is stored twice, or out of order");
        if (full && (w->kind != RUN_KEYS || next.major >> 24 != last.major >> 24))
            write_block(w);
    }
    buf_add(&w->block, record, width);
}

void run_writer_end(struct run_writer *w)
{
    if (w->block.n > 0)
        write_block(w);
    sql_finalize(w->add);
    buf_free(&w->block);
}

void run_sort_minor(enum run_kind kind, void *records, size_t count)
{
    size_t width = run_width(kind);
    for (size_t i = 1; i < count; i++) {
        char moved[RUN_RECORD_BYTES_MOST];
        char *at = (char *)records + i * width;
        if (!is_before(place_of(at), place_of(at - width)))
            continue;
        memcpy(moved, at, width);
        for (; at > (char *)records && is_before(place_of(moved), place_of(at - width));
             at -= width)
            memcpy(at, at - width, width);
        memcpy(at, moved, width);
    }
}
