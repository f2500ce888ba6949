/* A type is refused from the first success of another type after its own failure until it succeeds
 * itself. So a receiver that fails altogether is told from one that fails on a type: without a
 * success between two failures of a type both count against the lane, whatever came before.
 *
 * 502, 503 and 504 come from a proxy, or from a server that says that it is overloaded: they are
 * about the receiver, whatever the type. So are all failures without a status. A 2xx that does not
 * say what the app asks for is like a 500. */
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
