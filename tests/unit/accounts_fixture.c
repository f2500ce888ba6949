/* A directory with its write side, for one test. */
#include "accounts_fixture.h"

static int64_t fixture_wall_ms(struct env *env)
{
    return CONTAINER_OF(env, struct fixture, env)->now_ms;
}

static void fixture_random(struct env *env, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = (uint8_t)rng_below(&CONTAINER_OF(env, struct fixture, env)->rng, 256);
}

void fixture_open(struct fixture *f)
{
    *f = (struct fixture){.env = {.wall_ms = fixture_wall_ms,
                                  .mono_ms = fixture_wall_ms,
                                  .random_bytes = fixture_random},
                          .now_ms = 1763726400000};
    rng_seed(&f->rng, 1);
    f->directory = directory_new();
    if (!cidr_parse(STR("127.0.0.0/8"), &f->allowed))
        check_failed(__FILE__, __LINE__, "cidr");
    struct accounts_options options = {.directory = f->directory,
                                       .env = &f->env,
                                       .vault = {.key = {1, 2, 3}},
                                       .rules = {.allowed = &f->allowed, .allowed_count = 1}};
    f->accounts = accounts_new(&options);
}

void fixture_close(struct fixture *f)
{
    accounts_free(f->accounts);
    directory_free(f->directory);
    arena_free(&f->arena);
}

const struct json *fixture_body(struct fixture *f, const char *text)
{
    struct json *v = NULL;
    struct str why = STR_NONE;
    f->faults = (struct problems){.arena = &f->arena};
    if (!json_parse(&f->arena, str_of(text), &v, &why))
        check_failed(__FILE__, __LINE__, text);
    return v;
}

struct str fixture_faults(struct fixture *f)
{
    struct buf text = {0};
    for (const struct problem *p = f->faults.first; p; p = p->next)
        buf_printf(&text, "%s%.*s %s", p == f->faults.first ? "" : ", ", STR_ARG(p->field),
                   p->code);
    struct str s = arena_str(&f->arena, buf_str(&text));
    buf_free(&text);
    return s;
}

void fixture_apply(struct fixture *f)
{
    change_apply(f->accounts, &f->change);
    change_free(f->accounts, &f->change);
}

bool fixture_partner(struct fixture *f, const char *body)
{
    if (change_create_partner(f->accounts, fixture_body(f, body), &f->faults, &f->change) !=
        CHANGE_READY)
        return false;
    fixture_apply(f);
    return true;
}

bool fixture_app(struct fixture *f, const char *partner, const char *body)
{
    if (change_create_app(f->accounts, str_of(partner), false, fixture_body(f, body), &f->faults,
                          &f->change) != CHANGE_READY)
        return false;
    fixture_apply(f);
    return true;
}

bool fixture_client(struct fixture *f, const char *app, const char *body)
{
    if (change_create_client(f->accounts, str_of(app), fixture_body(f, body), &f->faults,
                             &f->change) != CHANGE_READY)
        return false;
    fixture_apply(f);
    return true;
}

bool fixture_patch_app(struct fixture *f, const char *app, const char *body)
{
    if (change_patch_app(f->accounts, str_of(app), STR_NONE, fixture_body(f, body), &f->faults,
                         &f->change) != CHANGE_READY)
        return false;
    fixture_apply(f);
    return true;
}

bool fixture_rotate(struct fixture *f, const char *body)
{
    const struct json *v = fixture_body(f, body ? body : "{}");
    if (change_rotate_secret(f->accounts, STR("a1"), false, body ? v : NULL, &f->faults,
                             &f->change) != CHANGE_READY)
        return false;
    fixture_apply(f);
    return true;
}

struct str fixture_app_json(struct fixture *f, const char *id, bool with_secret)
{
    struct buf text = {0};
    struct json_writer w;
    struct app *a = directory_app(f->directory, str_of(id));
    json_write_to(&w, &text);
    if (a)
        render_app(&w, a, with_secret);
    app_unref(a);
    struct str s = arena_str(&f->arena, buf_str(&text));
    buf_free(&text);
    return s;
}
