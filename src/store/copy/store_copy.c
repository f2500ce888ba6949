/* A copy: checks the source, writes it chunk by chunk into the target, then reads and compares
 * both. */
#include "store/copy/sides.h"

#include "base/alloc.h"

#include <stdlib.h>

struct copying {
    const struct copy_options *options;
    struct copy_source *from;
    struct copy_target *to;
    struct copy_chunk chunk;
    struct buf mark;
    struct copy_result *ret;
    char **ret_why;
};

static enum copy_end fail(struct copying *c, const struct buf *why)
{
    if (!*c->ret_why)
        *c->ret_why = xstrdup(why->n ? why->p : "it failed");
    return COPY_FAILED;
}

static struct copy_source *open_source(const struct store_place *place, char **ret_why)
{
    return place->uri ? copy_postgresql_source(place->uri, ret_why)
                      : copy_sqlite_source(place->directory, ret_why);
}

static struct copy_target *open_target(struct copying *c)
{
    const struct store_place *place = &c->options->to;
    struct str mark = buf_str(&c->mark);
    return place->uri ? copy_postgresql_target(place->uri, c->from, mark, c->ret_why)
                      : copy_sqlite_target(place->directory, c->from, mark, c->ret_why);
}

/* Judges the source's objects before the target is touched. */
static bool judge_objects(struct copying *c)
{
    struct copy_position start = {.section = COPY_OBJECTS};
    if (!c->options->judge)
        return true;
    if (!c->from->ops->seek(c->from, &start))
        return false;
    do {
        if (!c->from->ops->read(c->from, &c->chunk))
            return false;
        for (size_t i = 0; i < c->chunk.count; i++)
            if (!c->options->judge(c->options->context, c->chunk.objects[i].kind,
                                   c->chunk.objects[i].document, c->ret_why))
                return false;
    } while (c->chunk.count > 0);
    return true;
}

static enum copy_end copy_sections(struct copying *c)
{
    struct copy_progress at = {.of = c->from->events};
    while (c->to->at.section < COPY_SECTION_END) {
        if (!c->from->ops->seek(c->from, &c->to->at))
            return fail(c, &c->from->why);
        do {
            if (!c->from->ops->read(c->from, &c->chunk))
                return fail(c, &c->from->why);
            if (!c->to->ops->write(c->to, &c->chunk))
                return fail(c, &c->to->why);
            if (c->chunk.section == COPY_EVENTS)
                c->ret->copied_events += (int64_t)c->chunk.count;
            at.done = c->to->events_before + c->ret->copied_events;
            if (c->options->goes_on && !c->options->goes_on(c->options->context, &at))
                return COPY_STOPPED;
        } while (c->chunk.count > 0);
    }
    return COPY_EQUAL;
}

/* Closes the other side. NULL: it could not be opened, and *c->ret_why says why. */
static enum copy_end compare(struct copying *c, struct copy_source *other)
{
    if (!other)
        return COPY_FAILED;
    struct copy_source *sides[2] = {c->from, other};
    enum copy_end end = copy_compare(c->options, sides, c->ret);
    if (end == COPY_FAILED)
        end = fail(c, c->from->why.n ? &c->from->why : &other->why);
    other->ops->close(other);
    return end;
}

/* A SQLite source is locked. A PostgreSQL source cannot be locked, so its mark tells whether it was
 * used. */
static bool is_unchanged(struct copying *c)
{
    struct buf mark = {0};
    bool good = c->from->ops->mark(c->from, &mark);
    if (good && !str_eq(buf_str(&mark), buf_str(&c->mark))) {
        *c->ret_why = xstrdup("the source has been in use meanwhile: empty the target, and begin"
                              " anew");
        good = false;
    }
    buf_free(&mark);
    return good;
}

static enum copy_end copy_all(struct copying *c)
{
    if (!c->from->ops->mark(c->from, &c->mark) || !judge_objects(c))
        return fail(c, &c->from->why);
    c->to = open_target(c);
    if (!c->to)
        return COPY_FAILED;
    c->ret->went_on = c->to->went_on;
    enum copy_end end = copy_sections(c);
    if (end == COPY_EQUAL)
        end = compare(c, c->to->ops->reread(c->to, c->ret_why));
    if (end == COPY_EQUAL && !is_unchanged(c))
        end = fail(c, &c->from->why);
    if (end == COPY_EQUAL && !c->to->ops->finish(c->to))
        end = fail(c, &c->to->why);
    return end;
}

enum copy_end store_copy(const struct copy_options *options, struct copy_result *ret,
                         char **ret_why)
{
    struct copying c = {.options = options, .ret = ret, .ret_why = ret_why};
    enum copy_end end = COPY_FAILED;
    *ret = (struct copy_result){0};
    *ret_why = NULL;
    c.from = open_source(&options->from, ret_why);
    if (c.from)
        end =
            options->only_compare ? compare(&c, open_source(&options->to, ret_why)) : copy_all(&c);
    if (c.to)
        c.to->ops->close(c.to);
    if (c.from)
        c.from->ops->close(c.from);
    arena_free(&c.chunk.arena);
    buf_free(&c.mark);
    return end;
}
