/* Users of the demo's dashboard: an operator and the owner of each partner. Invites them, and sets
 * their passwords by the links, as for anybody. */
#include "cli/demo.h"
#include "json/reader.h"

#include <inttypes.h>
#include <stdio.h>

/* The token behind the '#' of the answer's Link. */
static bool link_token(struct str answer, struct buf *ret_token)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, answer, &object, &why);
    const struct json *link = good ? json_member(object, "Link") : NULL;
    struct str token = link ? link->text : STR_NONE;
    str_cut(&token, '#');
    if (token.p)
        buf_add_str(ret_token, token);
    arena_free(&arena);
    return token.p != NULL;
}

static bool ask(struct client_session *c, const char *path, const struct buf *body, int wanted,
                struct buf *answer)
{
    int status = client_request(c, "POST", path, "application/json", buf_str(body), answer);
    if (status != wanted)
        fprintf(stderr, "postbackd: demo: %s answered %d: %.*s\n", path, status,
                STR_ARG(buf_str(answer)));
    return status == wanted;
}

static bool make_person(const struct demo_world *w, struct client_session *c, const char *email,
                        const char *name, const char *role, const char *partner_id)
{
    struct buf path = {0}, body = {0}, token = {0}, answer = {0};
    buf_add_c(&path, "/api/v1/users");
    if (partner_id)
        buf_printf(&path, "?partnerId=%s", partner_id);
    buf_printf(&body, "{\"Email\":\"%s\",\"Name\":\"%s\",\"Role\":\"%s\"}", email, name, role);
    bool good = ask(c, buf_c(&path), &body, 201, &answer) && link_token(buf_str(&answer), &token);
    buf_clear(&body);
    buf_printf(&body, "{\"Token\":\"%s\",\"Password\":\"%s\"}", buf_c(&token), w->password);
    good = good && ask(c, "/api/v1/links/use", &body, 200, &answer);
    buf_free(&path);
    buf_free(&body);
    buf_free(&token);
    buf_free(&answer);
    return good;
}

bool demo_make_people(struct demo_world *w, struct client_session *c)
{
    uint32_t random[2];
    env_random(env_real(), random, sizeof random);
    snprintf(w->password, sizeof w->password, "demo-%08" PRIx32 "%08" PRIx32, random[0], random[1]);
    bool good = make_person(w, c, "operator@demo.example", "Olga Operator", "admin", NULL);
    for (size_t i = 0; good && i < DEMO_APPS; i++) {
        const char *partner = w->apps[i].partner_id;
        char email[128];
        if (i && strcmp(partner, w->apps[i - 1].partner_id) == 0)
            continue;
        snprintf(email, sizeof email, "owner@%s.example", partner);
        good = make_person(w, c, email, "Petra Partner", "owner", partner);
    }
    return good;
}
