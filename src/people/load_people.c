/* Fills the registry at the start. The store's data may be damaged or edited by hand: an entry that
 * cannot be read, or whose account or user is missing, is left out and named. */
#include "accounts/entry.h"
#include "people/people_state.h"

static bool is_unique(struct people *p, const struct user *u)
{
    struct user *by_id = people_user(p, u->id);
    struct user *by_email = people_user_by_email(p, u->account_no, u->email);
    bool is = !by_id && !by_email;
    user_unref(by_id);
    user_unref(by_email);
    return is;
}

/* Puts one entry into the registry. A new user must have an id and an email that no other has;
 * otherwise the entry replaces the one with its id. */
static bool read_entry(struct people *p, struct arena *arena, enum object_kind kind,
                       struct str document, bool is_new, struct str *ret_why)
{
    struct json *v = NULL;
    struct user *u = NULL;
    struct session *s = NULL;
    ASSERT(kind == OBJECT_USER || kind == OBJECT_SESSION);
    if (!json_parse(arena, document, &v, ret_why))
        return false;
    if (kind == OBJECT_SESSION) {
        if (!session_read_document(arena, v, &s, ret_why))
            return false;
        people_put_session(p, s);
        return true;
    }
    if (!user_read_document(arena, v, &p->options.vault, &u, ret_why))
        return false;
    if (is_new && !is_unique(p, u)) {
        *ret_why = STR("another user has its id, or its email in the same account");
        user_unref(u);
        return false;
    }
    people_put_user(p, u);
    return true;
}

bool people_load(struct people *p, struct arena *arena, enum object_kind kind, struct str id,
                 struct str document, struct str *ret_why)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    struct str why = STR_NONE;
    if (read_entry(p, arena, kind, document, true, &why))
        return true;
    *ret_why = arena_print(arena, "stored entry %.*s: %.*s", STR_ARG(id), STR_ARG(why));
    if (kind == OBJECT_USER)
        p->users_left_out = true;
    return false;
}

bool people_refresh(struct people *p, struct arena *arena, enum object_kind kind, struct str id,
                    struct str document, struct str *ret_why)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    if (!document.p) {
        if (kind == OBJECT_USER)
            people_remove_user(p, id);
        else
            people_remove_session(p, id);
        return true;
    }
    return read_entry(p, arena, kind, document, false, ret_why);
}

/* The id of a user whose account is missing; absent: none. */
static struct str user_without_partner(struct people *p, struct directory *directory,
                                       struct arena *arena)
{
    for (struct index_node *at = index_after(&p->users, NULL); at;
         at = index_after(&p->users, at)) {
        const struct user *u = at->entry;
        struct partner *partner =
            u->account_no ? directory_partner_by_no(directory, u->account_no) : NULL;
        entry_unref(partner);
        if (u->account_no && !partner)
            return arena_str(arena, u->id);
    }
    return STR_NONE;
}

static struct str session_without_user(struct people *p, struct arena *arena)
{
    for (struct index_node *at = index_after(&p->sessions, NULL); at;
         at = index_after(&p->sessions, at)) {
        const struct session *s = at->entry;
        if (!index_find(&p->users, s->user_id))
            return arena_str(arena, s->id);
    }
    return STR_NONE;
}

bool people_leave_out_orphan(struct people *p, struct directory *directory, struct arena *arena,
                             enum object_kind *ret_kind, struct str *ret_id, struct str *ret_why)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    struct str id = user_without_partner(p, directory, arena);
    if (id.p) {
        people_remove_user(p, id);
        p->users_left_out = true;
        *ret_kind = OBJECT_USER;
        *ret_why = STR("its partner is not there");
    } else {
        id = session_without_user(p, arena);
        if (!id.p)
            return false;
        people_remove_session(p, id);
        *ret_kind = OBJECT_SESSION;
        *ret_why = STR("its user is not there");
    }
    *ret_id = id;
    return true;
}
