/* Account objects. */
#include "store/sqlite/apply_objects.h"

#include "store/sqlite/apply.h"

void apply_objects(struct apply *a)
{
    for (size_t i = 0; i < a->m->object_count; i++) {
        const struct mem_object *o = &a->m->objects[i];
        sqlite3_stmt *s = o->document.p ? a->objects.set : a->objects.drop;
        sql_bind_int(s, 1, o->kind);
        sql_bind_str(s, 2, o->id);
        if (o->document.p)
            sql_bind_str(s, 3, o->document);
        sql_run(&a->sql, s);
    }
}
