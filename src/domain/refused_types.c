/* A type counts as refused from the first success of another type after its own failure until its
 * own next success. This distinguishes a receiver that fails for everything from one that fails for
 * a type: two failures of a type without a success in between both count against the lane.
 *
 * 502, 503 and 504 come from a proxy or an overloaded server, so they are about the receiver for
 * every type. So are failures without a status. A 2xx without what the app's SuccessAnswer asks for
 * is treated like a 500. */
#include "domain/refused_types.h"

_Static_assert(EVENT_TYPE_LAST < 16, "a bit for each type");

static uint16_t bit_of(enum event_type type)
{
    return (uint16_t)(1u << type);
}

static bool may_be_about_type(enum attempt_class class, int status)
{
    if (class == ATTEMPT_UNEXPECTED_ANSWER)
        return true;
    return class == ATTEMPT_STATUS && status >= 500 && status <= 599 &&
           !(status >= 502 && status <= 504);
}

void refused_types_succeeded(struct refused_types *r, enum event_type type)
{
    if (r->failing) {
        r->failing &= (uint16_t)~bit_of(type);
        r->refused = r->failing;
    }
}

bool refused_types_failed(struct refused_types *r, enum event_type type, enum attempt_class class,
                          int status)
{
    if (!may_be_about_type(class, status))
        return false;
    r->failing |= bit_of(type);
    return (r->refused & bit_of(type)) != 0;
}
