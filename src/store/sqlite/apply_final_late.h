/* When the callbacks of a segment became final late. */
#pragma once

#include "store/sqlite/sql.h"

struct apply;

struct apply_final_late {
    uint32_t segment;
    int32_t final_day;
};

struct apply_final_late_rows { /* one for each segment */
    sqlite3_stmt *add;
    struct apply_final_late *items;
    size_t count, capacity;
};

void apply_write_final_late(struct apply *a); /* after all steps that move callbacks */
/* A callback of the segment became final late on that day (domain/retention.h). */
void apply_note_final_late(struct apply *a, uint32_t segment, int32_t final_day);
