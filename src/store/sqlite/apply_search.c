/* The search of callbacks by state: collects moves from one state to another and writes them set by
 * set (search_set.h). */
#include "store/sqlite/apply_search.h"

#include "base/alloc.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/search_set.h"

/* Records a change of a set. key: the set; value: the event's number and, in the lowest bit,
 * whether it joins or leaves. The order of changes is kept. */
static void note(struct apply *a, uint64_t key, uint64_t event_no, bool comes)
{
    a->search.items =
        xgrow(a->search.items, &a->search.capacity, a->search.count + 1, sizeof *a->search.items);
    a->search.items[a->search.count++] = (struct sort_item){key, event_no << 1 | comes};
}

void apply_search_move(struct apply *a, uint64_t id, uint32_t app_no, enum event_type type,
                       enum callback_state before, enum callback_state after)
{
    uint32_t account_no = account_of_id(id);
    if (before == after)
        return;
    if (before != CALLBACK_NONE)
        note(a, search_key(account_no, app_no, type, before), event_no_of_id(id), false);
    if (after != CALLBACK_NONE)
        note(a, search_key(account_no, app_no, type, after), event_no_of_id(id), true);
}

void apply_search_prepare(struct apply *a)
{
    struct sql *q = &a->sql;
    a->search.find = sql_prepare(q, "SELECT events FROM search WHERE key=? AND block=?");
    a->search.set = sql_prepare(q, "INSERT OR REPLACE INTO search VALUES(?,?,?)");
    a->search.drop = sql_prepare(q, "DELETE FROM search WHERE key=? AND block=?");
}

static sqlite3_stmt *bound(sqlite3_stmt *s, uint64_t key, uint64_t block)
{
    sql_bind_int(s, 1, (int64_t)key);
    sql_bind_int(s, 2, (int64_t)block);
    return s;
}

static void read_block(struct apply *a, uint64_t key, uint64_t block, struct search_block *ret)
{
    sqlite3_stmt *s = bound(a->search.find, key, block);
    search_block_read(ret, sql_row(&a->sql, s) ? sql_str(s, 0) : (struct str){0});
    sql_reset(s);
}

static void write_block(struct apply *a, uint64_t key, uint64_t block,
                        const struct search_block *bits)
{
    uint16_t few[SEARCH_BLOCK_EVENTS / 16];
    struct str row = search_block_row(bits, few);
    if (row.n == 0) {
        sql_run(&a->sql, bound(a->search.drop, key, block));
        return;
    }
    sqlite3_stmt *s = bound(a->search.set, key, block);
    sql_bind_blob(s, 3, row);
    sql_run(&a->sql, s);
}

static uint64_t block_of(const struct sort_item *item)
{
    return item->value >> (SEARCH_BLOCK_BITS + 1);
}

void apply_search(struct apply *a)
{
    struct sort_item *items = a->search.items;
    size_t count = a->search.count;
    sort_by_key(items, count, apply_order(a, count, sizeof *items));
    for (size_t i = 0; i < count;) {
        const struct sort_item *first = &items[i];
        struct search_block bits;
        read_block(a, first->key, block_of(first), &bits);
        for (; i < count && items[i].key == first->key && block_of(&items[i]) == block_of(first);
             i++)
            search_block_set(&bits, (unsigned)(items[i].value >> 1) % SEARCH_BLOCK_EVENTS,
                             items[i].value & 1);
        write_block(a, first->key, block_of(first), &bits);
    }
    a->search.count = 0;
}
