/* The master key: its spellings, and changing it: what is sealed under the second key is sealed
 * anew under the first. */
#include "accounts_fixture.h"

#include "accounts/document.h"

static struct fixture f;

static void master_keys(void)
{
    static const char *const good[] = {
        "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n",
    };
    static const char *const bad[] = {
        "",
        "00",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1g",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
        "correct horse battery staple"};
    uint8_t key[MASTER_KEY_BYTES];
    const char *why = NULL;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        memset(key, 0xff, sizeof key);
        CHECK(master_key_parse(str_of(good[i]), key, &why));
        CHECK_EQ_INT(key[0], 0);
        CHECK_EQ_INT(key[31], 31);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        why = NULL;
        CHECK(!master_key_parse(str_of(bad[i]), key, &why));
        CHECK(why && strstr(why, "32 bytes"));
    }
}

/* A second key opens what was sealed under it, and it is sealed anew under the first, once. */
static void everything_is_sealed_anew_once(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1",
                        "{\"AppId\":\"a1\",\"CurrencyValue\":1,"
                        "\"SuccessCallbackUrl\":\"https://u:p@partner.example/\"}"));
    struct app *before = directory_app(f.directory, STR("a1"));
    struct partner *partner = directory_partner(f.directory, STR("p1"));
    struct buf documents[2] = {{0}, {0}};
    struct vault first = {.key = {1, 2, 3}};
    document_print_partner(&documents[0], partner, &first, &f.env);
    document_print_app(&documents[1], before, &first, &f.env);

    struct directory *d = directory_new();
    struct accounts_options options = {
        .directory = d,
        .env = &f.env,
        .rules = {.allowed = &f.allowed, .allowed_count = 1},
        .vault = {.key = {7}, .second = {1, 2, 3}, .has_second = true}};
    struct accounts *accounts = accounts_new(&options);
    struct str why;
    REQUIRE(accounts_load(accounts, &f.arena, ACCOUNT_PARTNER, STR("p1"), buf_str(&documents[0]),
                          &why));
    REQUIRE(
        accounts_load(accounts, &f.arena, ACCOUNT_APP, STR("a1"), buf_str(&documents[1]), &why));
    struct vault only_new = {.key = {7}};
    for (int i = 0; i < 2; i++) {
        struct change change;
        struct json *v = NULL;
        struct app *app = NULL;
        struct partner *read = NULL;
        REQUIRE(change_reseal(accounts, &change));
        CHECK_EQ_INT(change.kind, i ? ACCOUNT_APP : ACCOUNT_PARTNER);
        REQUIRE(json_parse(&f.arena, buf_str(&change.document), &v, &why));
        if (i) {
            REQUIRE(document_read_app(&f.arena, v, &only_new, &app, &why));
            CHECK(str_eq(app->secrets.newest, before->secrets.newest) &&
                  app->version == before->version);
            CHECK(str_eq(app->url[LANE_SUCCESS], before->url[LANE_SUCCESS]));
            app_unref(app);
        } else {
            REQUIRE(document_read_partner(&f.arena, v, &only_new, &read, &why));
            CHECK(str_eq(read->operations_secrets.newest, partner->operations_secrets.newest));
            partner_unref(read);
        }
        change_apply(accounts, &change);
        change_free(accounts, &change);
    }
    struct change none;
    CHECK(!change_reseal(accounts, &none));
    app_unref(before);
    partner_unref(partner);
    buf_free(&documents[0]);
    buf_free(&documents[1]);
    accounts_free(accounts);
    directory_free(d);
    fixture_close(&f);
}

/* Reuses the arena's first chunk, which arena_reset keeps, and looks for the text in it. Under the
 * address sanitizer the arena has no chunks and keeps nothing. */
static bool stands_in_first_chunk(struct arena *arena, struct str text)
{
    arena_reset(arena);
    const char *from = arena_alloc(arena, 1);
    return arena->at &&
           memmem(from, (size_t)(arena->at - from) + arena->left, text.p, text.n) != NULL;
}

static void a_refused_document_leaves_no_secret_in_memory(void)
{
    fixture_open(&f);
    REQUIRE(fixture_partner(&f, "{\"PartnerId\":\"p1\"}"));
    REQUIRE(fixture_app(&f, "p1", "{\"AppId\":\"a1\",\"CurrencyValue\":1}"));
    struct app *made = directory_app(f.directory, STR("a1")), *app = NULL;
    struct partner *partner = directory_partner(f.directory, STR("p1")), *read = NULL;
    struct vault vault = {.key = {1, 2, 3}};
    struct buf documents[2] = {{0}, {0}};
    struct json *v[2];
    struct str why;
    document_print_partner(&documents[0], partner, &vault, &f.env);
    document_print_app(&documents[1], made, &vault, &f.env);
    for (int i = 0; i < 2; i++) {
        char *enabled = strstr(buf_c(&documents[i]), "\"Enabled\":true");
        REQUIRE(enabled);
        memcpy(enabled, "\"Enabled\":null", 14);
        REQUIRE(json_parse(&f.arena, buf_str(&documents[i]), &v[i], &why));
    }
    struct arena arena = {0};
    CHECK(!document_read_partner(&arena, v[0], &vault, &read, &why));
    CHECK(!stands_in_first_chunk(&arena, partner->operations_secrets.newest));
    CHECK(!document_read_app(&arena, v[1], &vault, &app, &why));
    CHECK(!stands_in_first_chunk(&arena, made->secrets.newest));
    arena_free(&arena);
    app_unref(made);
    partner_unref(partner);
    buf_free(&documents[0]);
    buf_free(&documents[1]);
    fixture_close(&f);
}

int main(void)
{
    RUN(master_keys);
    RUN(everything_is_sealed_anew_once);
    RUN(a_refused_document_leaves_no_secret_in_memory);
    return check_done("master_key");
}
