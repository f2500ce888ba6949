/* Notes when callbacks became final late, in the table `final_late`. A body is kept for a number of
 * days after its callback is final. Most callbacks are final within RETENTION_SCHEDULE_DAYS
 * (domain/retention.h) of their acceptance, and need no row here. For the others, the table has, by
 * segment, the last day on which one became final. */
#include "store/sqlite/apply_final_late.h"

#include "base/alloc.h"
#include "store/sqlite/apply.h"

void apply_note_final_late(struct apply *a, uint32_t segment, int32_t final_day)
{
    struct apply_final_late_rows *rows = &a->final_late;
    size_t at = rows->count; /* neighbours are mostly of one segment, and there are few */
    while (at > 0 && rows->items[at - 1].segment != segment)
        at--;
    if (at == 0) {
        *ARRAY_PUSH(rows->items, rows->count, rows->capacity) =
            (struct apply_final_late){segment, final_day};
    } else if (rows->items[at - 1].final_day < final_day) {
        rows->items[at - 1].final_day = final_day;
    }
}

void apply_write_final_late(struct apply *a)
{
    for (size_t i = 0; i < a->final_late.count; i++) {
        sql_bind_int(a->final_late.add, 1, a->final_late.items[i].segment);
        sql_bind_int(a->final_late.add, 2, a->final_late.items[i].final_day);
        sql_run(&a->sql, a->final_late.add);
    }
    a->final_late.count = 0;
}
