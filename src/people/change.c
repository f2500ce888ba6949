/* Building a change: the new states of a user and of sessions, then their documents. */
#include "accounts/entry.h"
#include "people/people_state.h"

static bool is_taken(struct people *p, struct str id)
{
    struct user *u = people_user(p, id);
    struct session *s = people_session(p, id);
    user_unref(u);
    session_unref(s);
    return u || s;
}

struct str people_new_id(struct people *p, struct arena *arena, const char *prefix)
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
    uint8_t random[16];
    struct str id;
    size_t n = strlen(prefix);
    do {
        char *text = arena_alloc(arena, n + sizeof random);
        env_random(p->options.env, random, sizeof random);
        memcpy(text, prefix, n);
        for (size_t i = 0; i < sizeof random; i++)
            text[n + i] = alphabet[random[i] & 31];
        id = (struct str){text, n + sizeof random};
    } while (is_taken(p, id));
    return id;
}

void people_end_session(struct people_change *change, struct session *s)
{
    ASSERT(change->ended_count < ARRAY_LEN(change->ended));
    change->ended[change->ended_count++] = s;
}

void people_end_sessions(struct people *p, struct people_change *change, struct str user_id,
                         struct str but_id)
{
    struct session *all[SESSIONS_PER_USER];
    size_t n = people_every_session(p, user_id, all);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(all[i]->id, but_id))
            session_unref(all[i]);
        else
            people_end_session(change, all[i]);
    }
}

/* Makes room for one more. */
static void end_surplus(struct people *p, struct people_change *change, struct str user_id,
                        int64_t now_ms)
{
    struct session *all[SESSIONS_PER_USER];
    size_t n = people_every_session(p, user_id, all);
    for (size_t i = 0; i < n; i++) {
        if (session_is_over(all[i], now_ms) || i >= SESSIONS_PER_USER - 1)
            people_end_session(change, all[i]);
        else
            session_unref(all[i]);
    }
}

void people_begin_session(struct people *p, struct people_change *change, const struct user *user,
                          struct str address, struct str agent, char ret_token[TOKEN_BYTES + 1])
{
    int64_t now_ms = env_wall_ms(p->options.env);
    struct session s = {
        .id = people_new_id(p, &change->arena, "s_"),
        .user_id = user->id,
        .created_ms = now_ms,
        .stored_used_ms = now_ms,
        .address = address,
        .agent = agent,
    };
    atomic_init(&s.used_ms, now_ms);
    token_make(p->options.env, ret_token, s.hash);
    if (change->ended_count == 0) /* otherwise all of the user's sessions end already */
        end_surplus(p, change, user->id, now_ms);
    ASSERT(!change->session);
    change->session = session_pack(&s);
}

void people_rotate_session(struct people *p, struct people_change *change,
                           const struct session *session, uint32_t acting_no,
                           char ret_token[TOKEN_BYTES + 1])
{
    struct session s;
    memcpy(&s, session, sizeof s);
    s.stored_used_ms = env_wall_ms(p->options.env);
    atomic_init(&s.used_ms, s.stored_used_ms);
    s.acting_no = acting_no;
    token_make(p->options.env, ret_token, s.hash);
    ASSERT(!change->session);
    change->session = session_pack(&s);
}

void people_note_use(struct people_change *change, const struct session *session)
{
    struct session s;
    memcpy(&s, session, sizeof s);
    s.stored_used_ms = atomic_load(&session->used_ms);
    change->session = session_pack(&s);
}

bool people_reseal(struct people *p, struct people_change *change)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    ASSERT(!change->user);
    pthread_mutex_lock(&p->lock);
    for (struct index_node *at = index_after(&p->users, NULL); at && !change->user;
         at = index_after(&p->users, at)) {
        const struct user *u = at->entry;
        if (u->under_second_key)
            change->user = user_pack(u);
    }
    pthread_mutex_unlock(&p->lock);
    return change->user != NULL;
}

/* --- documents and applying ------------------------------------------------------------------- */

size_t people_change_parts(struct people *p, struct people_change *change,
                           struct object_part ret_parts[PEOPLE_PARTS_MAX])
{
    size_t n = 0;
    struct buf document = {0};
    if (change->user) {
        if (!change->remove_user)
            user_print_document(&document, change->user, &p->options.vault, p->options.env);
        change->user->under_second_key = false;
        ret_parts[n++] = (struct object_part){
            OBJECT_USER, change->user->id,
            change->remove_user ? STR_NONE : arena_take(&change->arena, &document)};
    }
    if (change->session) {
        session_print_document(&document, change->session);
        ret_parts[n++] = (struct object_part){OBJECT_SESSION, change->session->id,
                                              arena_take(&change->arena, &document)};
    }
    for (size_t i = 0; i < change->ended_count; i++)
        ret_parts[n++] = (struct object_part){OBJECT_SESSION, change->ended[i]->id, STR_NONE};
    return n;
}

void people_change_apply(struct people *p, const struct people_change *change)
{
    if (change->user && change->remove_user)
        people_remove_user(p, change->user->id);
    else if (change->user)
        people_put_user(p, entry_ref(change->user));
    for (size_t i = 0; i < change->ended_count; i++)
        people_remove_session(p, change->ended[i]->id);
    if (change->session)
        people_put_session(p, entry_ref(change->session));
}

void people_change_free(struct people_change *change)
{
    user_unref(change->user);
    session_unref(change->session);
    for (size_t i = 0; i < change->ended_count; i++)
        session_unref(change->ended[i]);
    arena_free(&change->arena);
    *change = (struct people_change){0};
}
