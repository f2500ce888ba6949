/* Lists types of events by name: a message that only says "a type" helps nobody. */
#include "domain/event_type_list.h"

void event_types_print(struct buf *to, uint32_t types)
{
    for (int t = EVENT_SURVEY_STARTED; t <= EVENT_TYPE_LAST; t++)
        if (types & (UINT32_C(1) << t))
            buf_add_name(to, str_of(event_type_name((enum event_type)t)));
}

void event_types_refuse(struct problems *to, struct str field, const char *before, uint32_t types)
{
    struct buf names = {0};
    event_types_print(&names, types);
    problem_add(to, field, "invalid", "%s %s", before, buf_c(&names));
    buf_free(&names);
}
