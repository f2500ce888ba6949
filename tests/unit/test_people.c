/* People's pure parts: codes by the RFCs' own vectors, cookies, roles, throttling, passwords. */
#include "accounts/names.h"
#include "people/cookie.h"
#include "people/passkey.h"
#include "people/people.h"
#include "people/sign_in_flow.h"
#include "people/throttle.h"
#include "json/reader.h"

#include "check.h"

#include <sodium.h>
#include <time.h>

#define RFC_SECRET STR("12345678901234567890") /* RFC 4226, appendix D; RFC 6238, appendix B */

static void codes_are_those_of_the_rfcs(void)
{
    static const uint32_t hotp[] = {755224, 287082, 359152, 969429, 338314,
                                    254676, 287922, 162583, 399871, 520489};
    for (size_t i = 0; i < ARRAY_LEN(hotp); i++)
        CHECK_EQ_UINT(totp_value(RFC_SECRET, (int64_t)i), hotp[i]);
    /* The last six of RFC 6238's eight digits, by its seconds. */
    static const struct {
        int64_t second;
        uint32_t value;
    } totp[] = {{59, 287082},       {1111111109, 81804},  {1111111111, 50471},
                {1234567890, 5924}, {2000000000, 279037}, {20000000000, 353130}};
    for (size_t i = 0; i < ARRAY_LEN(totp); i++)
        CHECK_EQ_UINT(totp_value(RFC_SECRET, totp[i].second / 30), totp[i].value);
}

static void a_code_is_good_once_and_for_a_while(void)
{
    const int64_t now = 59000; /* step 1, code 287082 */
    const struct used_once none = {0}, one = {{1}}, two = {{2}};
    CHECK_EQ_INT(totp_find_step(RFC_SECRET, STR("287082"), now, &none), 1);
    CHECK_EQ_INT(totp_find_step(RFC_SECRET, STR("287082"), now + 30000, &none), 1);
    CHECK_EQ_INT(totp_find_step(RFC_SECRET, STR("287082"), now + 60000, &none), 0);
    CHECK_EQ_INT(totp_find_step(RFC_SECRET, STR("359152"), now, &none), 2);
    CHECK_EQ_INT(totp_find_step(RFC_SECRET, STR("287082"), now, &one), 0);
    CHECK_EQ_INT(totp_find_step(RFC_SECRET, STR("287082"), now, &two), 0);
    static const char *const bad[] = {"", "28708", "2870820", "28708x", "-87082", " 87082"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_EQ_INT(totp_find_step(RFC_SECRET, str_of(bad[i]), now, &none), 0);
}

static int64_t use_code(struct used_once *used, int64_t now_ms, int64_t step)
{
    char code[16];
    snprintf(code, sizeof code, "%06u", totp_value(RFC_SECRET, step));
    int64_t found = totp_find_step(RFC_SECRET, str_of(code), now_ms, used);
    if (found)
        used_once_add(used, found);
    return found;
}

static void a_code_is_good_once_however_the_clock_is_set(void)
{
    const int64_t now = 1000, ahead = 1000000;
    struct used_once used = {0};
    CHECK_EQ_INT(use_code(&used, now * TOTP_PERIOD_MS, now), now);
    CHECK_EQ_INT(use_code(&used, ahead * TOTP_PERIOD_MS, ahead), ahead);
    CHECK_EQ_INT(use_code(&used, (ahead + 4) * TOTP_PERIOD_MS, ahead + 4), ahead + 4);
    /* Corrected. */
    CHECK_EQ_INT(use_code(&used, now * TOTP_PERIOD_MS, now), 0);
    CHECK_EQ_INT(use_code(&used, now * TOTP_PERIOD_MS, now + 1), now + 1);
    CHECK_EQ_INT(use_code(&used, now * TOTP_PERIOD_MS, now + 1), 0);
    CHECK_EQ_INT(use_code(&used, (now + 1) * TOTP_PERIOD_MS, now), 0);
    CHECK_EQ_INT(use_code(&used, (now + 2) * TOTP_PERIOD_MS, now + 2), now + 2);
    /* When the time of the wrong clock comes. */
    CHECK_EQ_INT(use_code(&used, ahead * TOTP_PERIOD_MS, ahead), 0);
    CHECK_EQ_INT(use_code(&used, ahead * TOTP_PERIOD_MS, ahead + 1), ahead + 1);
    CHECK_EQ_INT(use_code(&used, (ahead + 4) * TOTP_PERIOD_MS, ahead + 4), 0);
}

static void as_many_codes_as_are_kept_are_refused_by_a_clock_set_back(void)
{
    struct used_once used = {0};
    for (int64_t step = 1; step <= USED_ONCE_KEPT; step++)
        CHECK_EQ_INT(use_code(&used, step * TOTP_PERIOD_MS, step), step);
    for (int64_t step = 1; step <= USED_ONCE_KEPT; step++)
        CHECK_EQ_INT(use_code(&used, step * TOTP_PERIOD_MS, step), 0);
}

static void authenticators_can_read_the_uri(void)
{
    struct buf b = {0};
    base32_print(&b, RFC_SECRET);
    CHECK_CSTR(buf_c(&b), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    buf_clear(&b);
    base32_print(&b, STR("foobar")); /* RFC 4648, section 10 */
    base32_print(&b, STR("f"));
    CHECK_CSTR(buf_c(&b), "MZXW6YTBOIMY");
    buf_clear(&b);
    totp_print_uri(&b, STR("foobar"), STR("a+b@c.example"));
    CHECK_CSTR(buf_c(&b), "otpauth://totp/postbackd:a%2Bb%40c.example?secret=MZXW6YTBOI"
                          "&issuer=postbackd&algorithm=SHA1&digits=6&period=30");
    buf_free(&b);
}

static void cookies_are_found_by_name(void)
{
    static const struct {
        const char *header, *value; /* value NULL: absent */
    } cases[] = {
        {"s=1", "1"},      {"a=2; s=1", "1"}, {"s=1; a=2", "1"},    {" a=2 ;s=1 ", "1"},
        {"s=", ""},        {"s=a=b", "a=b"},  {"ss=1", NULL},       {"S=1", NULL},
        {"s", NULL},       {"", NULL},        {"xs=1; s2=3", NULL}, {"s=1; s=2", NULL},
        {"s=1; s=1", "1"}, {"=1", NULL},      {";;=;s=9;", "9"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str found = cookie_find(str_of(cases[i].header), "s");
        CHECK(str_eq(found, str_of(cases[i].value)));
    }
    CHECK(!cookie_find(STR_NONE, "s").p);
}

static void roles_are_the_table_of_the_docs(void)
{
    const uint32_t reads = SCOPE_REPORTS_READ | SCOPE_CALLBACKS_READ | SCOPE_APPS_READ;
    CHECK_EQ_UINT(role_scopes(ROLE_OWNER), SCOPES_PARTNER);
    CHECK_EQ_UINT(role_scopes(ROLE_DEVELOPER), SCOPES_PARTNER & ~(uint32_t)SCOPE_PEOPLE_WRITE);
    CHECK_EQ_UINT(role_scopes(ROLE_ANALYST), reads);
    CHECK_EQ_UINT(role_scopes(ROLE_ADMIN), SCOPES_ALL);
    CHECK_EQ_UINT(role_scopes(ROLE_SUPPORT), reads | SCOPE_CALLBACKS_WRITE | SCOPE_AUDIT_READ);
    CHECK_EQ_UINT(SCOPES_PARTNER & (SCOPE_ADMIN | SCOPE_EVENTS_WRITE), 0);
    uint32_t named = 0;
    for (size_t i = 0; i < scope_count; i++)
        named |= scope_names[i].bit;
    CHECK_EQ_UINT(named, SCOPES_ALL);
    for (enum role r = ROLE_OWNER; r <= ROLE_LAST; r++) {
        enum role read = ROLE_NONE;
        CHECK(role_parse(str_of(role_name(r)), &read) && read == r);
        CHECK(role_is_operators(r) == (r >= ROLE_ADMIN));
        CHECK(role_is_operators(r) || !(role_scopes(r) & ~SCOPES_PARTNER));
    }
    enum role none = ROLE_NONE;
    CHECK(!role_parse(STR(""), &none) && !role_parse(STR("Owner"), &none));
}

static void tries_run_out_and_come_back(void)
{
    struct throttle *t = throttle_new((struct throttle_rule){.tries = 3, .refill_ms = 1000});
    const struct str ada = STR("ada"), bob = STR("bob");
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(throttle_wait_ms(t, ada, 5000), 0);
        throttle_fail(t, ada, 5000);
    }
    CHECK_EQ_INT(throttle_wait_ms(t, ada, 5000), 1000);
    CHECK_EQ_INT(throttle_wait_ms(t, bob, 5000), 0);
    CHECK_EQ_INT(throttle_wait_ms(t, ada, 5999), 1);
    CHECK_EQ_INT(throttle_wait_ms(t, ada, 6000), 0);
    throttle_fail(t, ada, 6000);
    CHECK_EQ_INT(throttle_wait_ms(t, ada, 6000), 1000);
    throttle_forgive(t, ada);
    CHECK_EQ_INT(throttle_wait_ms(t, ada, 6000), 0);
    for (int i = 0; i < 20000; i++) { /* more than it can keep */
        struct buf who = {0};
        buf_printf(&who, "somebody-%d", i);
        throttle_fail(t, buf_str(&who), 7000);
        buf_free(&who);
    }
    throttle_free(t);
}

static void passwords_are_stretched_and_judged(void)
{
    char hash[PASSWORD_HASH_BYTES];
    const char *why = NULL;
    password_hash(STR("correct horse battery"), STR_NONE, hash);
    CHECK(strncmp(hash, "$argon2id$v=19$m=32768,t=2,p=1$", 31) == 0);
    CHECK(password_verify(str_of(hash), STR("correct horse battery")));
    CHECK(!password_verify(str_of(hash), STR("correct horse batterx")));
    CHECK(!password_verify(STR_NONE, STR("correct horse battery")));
    CHECK(password_good(STR("twelve chars"), STR_NONE, &why));
    CHECK(password_good(STR("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"
                            "abcdef"),
                        STR_NONE, &why));
    CHECK(!password_good(STR("eleven char"), STR_NONE, &why));
    CHECK_CSTR(why, "has fewer than 12 characters");
    CHECK(!password_good(STR("a@example.test"), STR("a@example.test"), &why));
    CHECK(!password_good(STR("A@Example.test"), STR("a@example.test"), &why));
    CHECK(!password_good(STR("xxxxxxxxxxxxxxxx"), STR_NONE, &why));
}

#define HASHES 8

/* How long it takes to compare a wrong password with all of them. */
static clock_t time_of_wrong(const struct str *hashes)
{
    bool right[HASHES];
    clock_t began = clock();
    password_verify_each(hashes, HASHES, STR("wrong horse battery"), right);
    for (size_t i = 0; i < HASHES; i++)
        CHECK(!right[i]);
    return clock() - began;
}

/* Nor is the number of somebody's accounts to be heard from how long a wrong password takes. */
static void a_password_is_stretched_once_for_each_salt(void)
{
    static char alike[HASHES][PASSWORD_HASH_BYTES], apart[HASHES][PASSWORD_HASH_BYTES];
    struct str of_one_salt[HASHES], of_many[HASHES];
    for (size_t i = 0; i < HASHES; i++) {
        password_hash(STR("correct horse"), i ? str_of(alike[0]) : STR_NONE, alike[i]);
        password_hash(STR("correct horse"), STR_NONE, apart[i]);
        of_one_salt[i] = str_of(alike[i]);
        of_many[i] = str_of(apart[i]);
    }
    CHECK_CSTR(alike[1], alike[0]);
    CHECK(strcmp(apart[1], apart[0]) != 0);
    CHECK(time_of_wrong(of_one_salt) * 3 < time_of_wrong(of_many));
}

static void each_hash_is_judged_by_itself(void)
{
    const struct str password = STR("correct horse battery"), other = STR("another horse battery");
    char a[PASSWORD_HASH_BYTES], b[PASSWORD_HASH_BYTES], c[PASSWORD_HASH_BYTES];
    char of_before[crypto_pwhash_STRBYTES], strange[crypto_pwhash_STRBYTES];
    bool right[7];
    password_hash(password, STR_NONE, a);
    password_hash(other, str_of(a), b);
    password_hash(password, str_of(b), c);
    CHECK(crypto_pwhash_str_verify(c, password.p, password.n) == 0);
    REQUIRE(crypto_pwhash_str(of_before, password.p, password.n, 2, (size_t)32 << 20) == 0);
    REQUIRE(crypto_pwhash_str(strange, password.p, password.n, 3, (size_t)8 << 20) == 0);
    const struct str hashes[] = {str_of(of_before), str_of(a), str_of(b),         STR_NONE,
                                 str_of(strange),   str_of(c), STR("$argon2id$v")};
    password_verify_each(hashes, ARRAY_LEN(hashes), password, right);
    const bool want[] = {true, true, false, false, true, true, false};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_EQ_INT(right[i], want[i]);
    password_hash(password, str_of(strange), b); /* a salt of other numbers is not taken */
    CHECK(password_verify(str_of(b), password));
}

static void recovery_codes_may_be_typed_anyhow(void)
{
    char code[RECOVERY_CODE_BYTES + 1];
    uint8_t want[32], got[32];
    recovery_code_make(env_real(), code);
    CHECK(strlen(code) == RECOVERY_CODE_BYTES && code[5] == '-');
    CHECK(recovery_code_hash(str_of(code), want));
    char typed[32] = " ";
    for (size_t i = 0; code[i]; i++)
        typed[1 + i] = (char)(code[i] == '-'                     ? ' '
                              : code[i] >= 'a' && code[i] <= 'z' ? code[i] - 32
                                                                 : code[i]);
    CHECK(recovery_code_hash(str_of(typed), got) && memcmp(want, got, 32) == 0);
    CHECK(!recovery_code_hash(STR("abcde-fghj"), got) && !recovery_code_hash(STR("123456"), got));
    CHECK(!recovery_code_hash(STR("abcde-fghjkm"), got) && !recovery_code_hash(STR(""), got));
}

/* --- documents -------------------------------------------------------------------------------- */

static void users_survive_their_documents(void)
{
    struct arena arena = {0};
    struct buf text = {0};
    const struct vault vault = {.key = {1}}, other = {.key = {2}},
                       changing = {.key = {2}, .second = {1}, .has_second = true};
    struct user u = {.user_no = 7,
                     .account_no = 3,
                     .version = 4,
                     .enabled = true,
                     .role = ROLE_DEVELOPER,
                     .created_ms = 11,
                     .last_sign_in_ms = 12,
                     .id = STR("u_1"),
                     .email = STR("a@b.example"),
                     .name = STR("A \"B\""),
                     .password = STR("$argon2id$x"),
                     .totp_secret = RFC_SECRET,
                     .totp_used = {{13, 12, 400}},
                     .recovery = STR("0123456789abcdef0123456789abcdef"),
                     .link = LINK_RESET,
                     .link_hash = {9},
                     .link_until_ms = 14,
                     .mail = {MAIL_NEVER, MAIL_AT_ONCE, MAIL_DAILY},
                     .link_by = STR("u_2")};
    user_print_document(&text, &u, &vault, env_real());
    CHECK(!strstr(buf_c(&text), "12345678901234567890"));
    struct json *v = NULL;
    struct str why;
    struct user *read = NULL;
    REQUIRE(json_parse(&arena, buf_str(&text), &v, &why));
    REQUIRE(user_read_document(&arena, v, &vault, &read, &why));
    CHECK(read->user_no == 7 && read->account_no == 3 && read->version == 4 && read->enabled);
    CHECK(read->role == ROLE_DEVELOPER && read->created_ms == 11 && read->last_sign_in_ms == 12);
    CHECK(str_eq(read->email, u.email) && str_eq(read->name, u.name) && str_eq(read->id, u.id));
    CHECK(str_eq(read->password, u.password) && str_eq(read->totp_secret, u.totp_secret));
    CHECK(memcmp(&read->totp_used, &u.totp_used, sizeof u.totp_used) == 0);
    CHECK(str_eq(read->recovery, u.recovery));
    CHECK(read->link == LINK_RESET && read->link_hash[0] == 9 && read->link_until_ms == 14);
    CHECK(str_eq(read->link_by, u.link_by));
    CHECK(memcmp(read->mail, u.mail, sizeof u.mail) == 0);
    CHECK(!read->under_second_key);
    user_unref(read);
    CHECK(!user_read_document(&arena, v, &other, &read, &why));
    REQUIRE(user_read_document(&arena, v, &changing, &read, &why));
    CHECK(str_eq(read->totp_secret, u.totp_secret) && read->under_second_key);
    user_unref(read);
    buf_free(&text);
    arena_free(&arena);
}

static bool reads_user_with(struct arena *arena, struct str passkeys, struct user **ret)
{
    struct buf text = {0};
    struct json *v = NULL;
    struct str why;
    const struct vault vault = {.key = {1}};
    buf_printf(&text,
               "{\"UserNo\":1,\"Version\":1,\"AccountNo\":0,\"UserId\":\"u_1\",\"Email\":\"a@b\","
               "\"Name\":\"A\",\"Role\":\"admin\",\"Enabled\":true,\"CreatedMs\":0,"
               "\"LastSignInMs\":0,\"LinksFromMs\":0,\"Passkeys\":%.*s}",
               STR_ARG(passkeys));
    struct str kept = arena_str(arena, buf_str(&text));
    buf_free(&text);
    return json_parse(arena, kept, &v, &why) && user_read_document(arena, v, &vault, ret, &why);
}

static void passkeys_survive_their_documents(void)
{
    struct arena arena = {0};
    struct passkey keys[PASSKEYS_PER_USER], read[PASSKEYS_PER_USER];
    struct user from = {0}, *u = NULL;
    for (size_t i = 0; i < PASSKEYS_PER_USER; i++)
        keys[i] = (struct passkey){.id = STR("pk_1"),
                                   .name = STR("A \"B\""),
                                   .credential = STR("AAAA"),
                                   .key = STR("BBBB"),
                                   .created_ms = 1,
                                   .last_used_ms = 2,
                                   .challenges_ms = {{3, 9, 2}},
                                   .sign_count = UINT32_MAX - (int64_t)i};
    user_set_passkeys(&from, &arena, keys, PASSKEYS_PER_USER);
    REQUIRE(reads_user_with(&arena, from.passkeys, &u));
    CHECK_EQ_UINT(passkeys_of(&arena, u, read), PASSKEYS_PER_USER);
    const struct passkey *k = &read[9];
    CHECK(str_eq(k->id, keys[9].id) && str_eq(k->name, keys[9].name));
    CHECK(str_eq(k->credential, keys[9].credential) && str_eq(k->key, keys[9].key));
    CHECK(k->created_ms == 1 && k->last_used_ms == 2);
    CHECK(memcmp(&k->challenges_ms, &keys[9].challenges_ms, sizeof k->challenges_ms) == 0);
    CHECK(k->sign_count == (int64_t)UINT32_MAX - 9);
    user_unref(u);
    user_set_passkeys(&from, &arena, keys, 0);
    CHECK(!from.passkeys.p && from.passkey_count == 0);
    CHECK(!reads_user_with(&arena, STR("[{}]"), &u) && !reads_user_with(&arena, STR("{}"), &u));
    CHECK(!reads_user_with(&arena, STR("[{},{},{},{},{},{},{},{},{},{},{}]"), &u));
    arena_free(&arena);
}

/* Tried with a later challenge and with the last one again. A refusal must change nothing. */
static bool counter_may_follow(int64_t before, int64_t now)
{
    struct passkey k = {.challenges_ms = {{5}}, .sign_count = before};
    CHECK(passkey_use(&k, 5, now, 1) && passkey_use(&k, 4, now, 1));
    CHECK(k.challenges_ms.times[0] == 5 && k.sign_count == before);
    bool good = !passkey_use(&k, 6, now, 1);
    CHECK(k.challenges_ms.times[0] == (good ? 6 : 5) && k.sign_count == (good ? now : before));
    return good;
}

static void an_answer_signs_in_once_however_the_clock_is_set(void)
{
    const int64_t now = 1000000, ahead = 1000000000, later = SIGN_IN_FLOW_MS;
    struct passkey k = {0};
    CHECK(!passkey_use(&k, now + later, 0, now));
    CHECK(!passkey_use(&k, ahead + later, 0, ahead));
    /* Corrected. */
    CHECK(passkey_use(&k, ahead + later, 0, now + 1) && passkey_use(&k, ahead + later + 1, 0, now));
    CHECK(passkey_use(&k, now + later, 0, now + 1));
    CHECK(!passkey_use(&k, now + later + 1, 0, now + 1));
    CHECK(passkey_use(&k, now + later + 1, 0, now + 1));
    /* When the time of the wrong clock comes. */
    CHECK(passkey_use(&k, ahead + later, 0, ahead));
    CHECK(!passkey_use(&k, ahead + later + 1, 0, ahead));
}

static void an_answer_signs_in_once(void)
{
    CHECK(counter_may_follow(0, 0) && counter_may_follow(0, 1));
    CHECK(counter_may_follow(1, UINT32_MAX));
    CHECK(!counter_may_follow(1, 1) && !counter_may_follow(2, 1));
    CHECK(!counter_may_follow(1, 0));
}

/* --- sessions --------------------------------------------------------------------------------- */

static int64_t now_ms = 1763726400000;

static int64_t session_clock(struct env *env)
{
    (void)env;
    return now_ms;
}

static void random_bytes(struct env *env, void *to, size_t n)
{
    (void)env;
    env_random(env_real(), to, n);
}

static struct people *some_people(struct env *env, char token[TOKEN_BYTES + 1])
{
    struct people *p = people_new(&(struct people_options){.env = env});
    struct user u = {.user_no = 1,
                     .account_no = 3,
                     .enabled = true,
                     .role = ROLE_OWNER,
                     .id = STR("u_1"),
                     .email = STR("a@b.example"),
                     .name = STR("A")};
    struct people_change change = {.user = user_pack(&u)};
    people_begin_session(p, &change, &u, STR("127.0.0.1"), STR("test"), token);
    people_change_apply(p, &change);
    people_change_free(&change);
    return p;
}

static void add_user(struct people *p, uint32_t user_no, uint32_t account_no)
{
    char id[16], email[32];
    snprintf(id, sizeof id, "u_%u", user_no);
    snprintf(email, sizeof email, "%u@b.example", user_no);
    struct user u = {.user_no = user_no,
                     .account_no = account_no,
                     .enabled = true,
                     .role = ROLE_OWNER,
                     .id = str_of(id),
                     .email = str_of(email),
                     .name = STR("A")};
    struct people_change change = {.user = user_pack(&u)};
    people_change_apply(p, &change);
    people_change_free(&change);
}

/* Whatever order they stand in: each once, the latest first, of this account alone. */
static void lists_are_in_pages(void)
{
    struct env env = {session_clock, session_clock, random_bytes};
    struct people *p = people_new(&(struct people_options){.env = &env});
    struct user *found[7];
    for (uint32_t no = 1; no <= 40; no++)
        add_user(p, no, no % 4 == 0 ? 9 : 3);
    uint32_t expected = 39, before = 0;
    size_t count;
    while ((count = people_list_users(p, 3, before, found, ARRAY_LEN(found))) > 0) {
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ_UINT(found[i]->user_no, expected);
            before = found[i]->user_no;
            expected -= expected % 4 == 1 ? 2 : 1;
            user_unref(found[i]);
        }
    }
    CHECK_EQ_UINT(before, 1);
    CHECK_EQ_UINT(people_list_users(p, 4, 0, found, ARRAY_LEN(found)), 0);
    /* One is changed and another removed. */
    add_user(p, 39, 3);
    struct people_change change = {.user = people_user(p, STR("u_38")), .remove_user = true};
    people_change_apply(p, &change);
    people_change_free(&change);
    CHECK_EQ_UINT(people_list_users(p, 3, 0, found, 2), 2);
    CHECK(found[0]->user_no == 39 && found[1]->user_no == 37);
    user_unref(found[0]);
    user_unref(found[1]);
    people_free(p);
}

static bool lets_in(struct people *p, const char *token)
{
    struct user *u = NULL;
    struct session *s = people_session_by_token(p, str_of(token), now_ms, &u);
    if (!s)
        return false;
    CHECK_STR(u->id, "u_1");
    session_use(s, now_ms);
    session_unref(s);
    user_unref(u);
    return true;
}

static void sessions_end(void)
{
    struct env env = {session_clock, session_clock, random_bytes};
    char token[TOKEN_BYTES + 1], other[TOKEN_BYTES + 1];
    struct people *p = some_people(&env, token);
    memcpy(other, token, sizeof other);
    other[TOKEN_BYTES / 2] = other[TOKEN_BYTES / 2] == 'A' ? 'B' : 'A';
    CHECK(lets_in(p, token) && !lets_in(p, other) && !lets_in(p, ""));
    int64_t begun_ms = now_ms;
    while (now_ms - begun_ms < SESSION_AGE_MS - SESSION_IDLE_MS) {
        now_ms += SESSION_IDLE_MS - 1; /* each use begins the idle time anew */
        CHECK(lets_in(p, token));
    }
    now_ms = begun_ms + SESSION_AGE_MS;
    CHECK(!lets_in(p, token)); /* however much it was used */
    people_free(p);
    p = some_people(&env, token);
    now_ms += SESSION_IDLE_MS;
    CHECK(!lets_in(p, token)); /* nobody used it */
    people_free(p);
}

static void who_is_disabled_has_no_session(void)
{
    struct env env = {session_clock, session_clock, random_bytes};
    char token[TOKEN_BYTES + 1];
    struct people *p = some_people(&env, token);
    struct user *u = people_user(p, STR("u_1")), next;
    memcpy(&next, u, sizeof next);
    next.enabled = false;
    user_unref(u);
    struct people_change change = {.user = user_pack(&next)};
    people_change_apply(p, &change);
    people_change_free(&change);
    CHECK(!lets_in(p, token));
    people_free(p);
}

/* 2027-03-15T12:00:00Z is day 20892. */
static void a_daily_mail_goes_once_a_day(void)
{
    const int64_t day = 86400000, midnight = 20892 * day, seven = midnight + 7 * 3600000;
    CHECK_EQ_INT(mail_daily_after_ms(midnight, 420), seven);
    CHECK_EQ_INT(mail_daily_after_ms(seven - 1, 420), seven);
    CHECK_EQ_INT(mail_daily_after_ms(seven, 420), seven + day);
    CHECK_EQ_INT(mail_daily_after_ms(midnight, 0), midnight + day);
    CHECK_EQ_INT(mail_daily_after_ms(midnight + day - 1, 1439), midnight + 2 * day - 60000);
}

static void who_may_not_know_wants_no_mail(void)
{
    struct user u = {.role = ROLE_ADMIN, .enabled = true};
    for (int i = 0; i < MAIL_ABOUTS; i++)
        u.mail[i] = MAIL_DAILY;
    CHECK_EQ_INT(user_wants_mail(&u, MAIL_ABOUT_BOOKS), MAIL_DAILY);
    CHECK_EQ_INT(user_wants_mail(&u, MAIL_ABOUT_STATEMENTS), MAIL_NEVER);
    u.role = ROLE_SUPPORT;
    CHECK_EQ_INT(user_wants_mail(&u, MAIL_ABOUT_BOOKS), MAIL_NEVER);
    u.role = ROLE_ANALYST;
    u.account_no = 7;
    CHECK_EQ_INT(user_wants_mail(&u, MAIL_ABOUT_STATEMENTS), MAIL_DAILY);
    u.enabled = false;
    CHECK_EQ_INT(user_wants_mail(&u, MAIL_ABOUT_STATEMENTS), MAIL_NEVER);
}

int main(void)
{
    ASSERT(sodium_init() >= 0);
    RUN(codes_are_those_of_the_rfcs);
    RUN(a_code_is_good_once_and_for_a_while);
    RUN(a_code_is_good_once_however_the_clock_is_set);
    RUN(as_many_codes_as_are_kept_are_refused_by_a_clock_set_back);
    RUN(authenticators_can_read_the_uri);
    RUN(cookies_are_found_by_name);
    RUN(roles_are_the_table_of_the_docs);
    RUN(tries_run_out_and_come_back);
    RUN(passwords_are_stretched_and_judged);
    RUN(a_password_is_stretched_once_for_each_salt);
    RUN(each_hash_is_judged_by_itself);
    RUN(recovery_codes_may_be_typed_anyhow);
    RUN(users_survive_their_documents);
    RUN(a_daily_mail_goes_once_a_day);
    RUN(who_may_not_know_wants_no_mail);
    RUN(passkeys_survive_their_documents);
    RUN(an_answer_signs_in_once);
    RUN(an_answer_signs_in_once_however_the_clock_is_set);
    RUN(lists_are_in_pages);
    RUN(sessions_end);
    RUN(who_is_disabled_has_no_session);
    return check_done("people");
}
