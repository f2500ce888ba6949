/* Users and sessions as the JSON documents that the store keeps. All members of the first version
 * are required; what later versions add must have a default. */
#include "accounts/document_reader.h"
#include "people/passkey.h"
#include "json/reader.h"
#include "json/writer.h"

#include <sodium.h>

/* --- out -------------------------------------------------------------------------------------- */

static void print_hex(struct json_writer *w, const char *name, struct str bytes)
{
    struct buf hex = {0};
    buf_add_hex(&hex, bytes.p, bytes.n);
    json_key_string_if(w, name, buf_str(&hex));
    buf_free(&hex);
}

static void print_mail(struct json_writer *w, const struct user *u)
{
    json_key_object(w, "Mail");
    for (int about = 0; about < MAIL_ABOUTS; about++)
        if (u->mail[about] != MAIL_NEVER)
            json_key_c(w, mail_about_name((enum mail_about)about), mail_when_name(u->mail[about]));
    json_end_object(w);
}

void user_print_document(struct buf *to, const struct user *u, const struct vault *vault,
                         struct env *env)
{
    struct json_writer w;
    struct buf sealed = {0};
    json_write_to(&w, to);
    json_object(&w);
    json_key_int(&w, "UserNo", u->user_no);
    json_key_int(&w, "Version", (int64_t)u->version);
    json_key_int(&w, "AccountNo", u->account_no);
    json_key_string_if(&w, "UserId", u->id);
    json_key_string_if(&w, "Email", u->email);
    json_key_string_if(&w, "Name", u->name);
    json_key_string_if(&w, "Role", str_of(role_name(u->role)));
    json_key_bool(&w, "Enabled", u->enabled);
    json_key_int(&w, "CreatedMs", u->created_ms);
    json_key_int(&w, "LastSignInMs", u->last_sign_in_ms);
    json_key_string_if(&w, "Issuer", u->issuer);
    json_key_string_if(&w, "Subject", u->subject);
    json_key_string_if(&w, "Password", u->password);
    if (u->totp_secret.p) {
        vault_seal(vault, env, u->totp_secret, &sealed);
        json_key_string_if(&w, "TotpSecret", buf_str(&sealed));
        used_once_print(&w, &u->totp_used, "TotpStep", "TotpEarlierSteps");
        print_hex(&w, "RecoverySha256", u->recovery);
    }
    if (u->passkeys.p)
        json_key_raw(&w, "Passkeys", u->passkeys);
    if (u->link != LINK_NONE) {
        json_key_int(&w, "Link", u->link);
        print_hex(&w, "LinkSha256", (struct str){(const char *)u->link_hash, 32});
        json_key_int(&w, "LinkUntilMs", u->link_until_ms);
        json_key_int(&w, "LinkMadeMs", u->link_made_ms);
        json_key_string_if(&w, "LinkBy", u->link_by);
        if (u->mail_owed_ms)
            json_key_int(&w, "MailOwedMs", u->mail_owed_ms);
    }
    if (u->reset_mail_ms)
        json_key_int(&w, "ResetMailOwedMs", u->reset_mail_ms);
    print_mail(&w, u);
    json_key_int(&w, "LinksFromMs", u->links_from_ms);
    json_end_object(&w);
    buf_free(&sealed);
}

void session_print_document(struct buf *to, const struct session *s)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    json_key_string_if(&w, "SessionId", s->id);
    json_key_string_if(&w, "UserId", s->user_id);
    print_hex(&w, "Sha256", (struct str){(const char *)s->hash, sizeof s->hash});
    json_key_int(&w, "CreatedMs", s->created_ms);
    json_key_int(&w, "UsedMs", s->stored_used_ms);
    json_key_int(&w, "ActingNo", s->acting_no);
    json_key_string_if(&w, "Address", s->address);
    json_key_string_if(&w, "Agent", s->agent);
    json_end_object(&w);
}

/* --- in --------------------------------------------------------------------------------------- */

/* Reads hashes into the arena; their length is a multiple of 32. */
static struct str read_hashes(struct document_reader *r, const char *name)
{
    struct str hex = document_text(r, name);
    unsigned char *bytes = arena_alloc(r->arena, hex.n / 2 + 1);
    size_t n = 0;
    if (sodium_hex2bin(bytes, hex.n / 2 + 1, hex.p, hex.n, NULL, &n, NULL) != 0 || n % 32 != 0 ||
        n != hex.n / 2)
        document_wrong(r, name);
    return (struct str){(const char *)bytes, n};
}

static void read_hash(struct document_reader *r, const char *name, uint8_t ret_hash[32])
{
    struct str bytes = read_hashes(r, name);
    if (bytes.n == 32)
        memcpy(ret_hash, bytes.p, 32);
    else
        document_wrong(r, name);
}

static void read_second_factor(struct document_reader *r, struct user *u)
{
    if (!vault_open(r->vault, r->arena, document_text(r, "TotpSecret"), &u->totp_secret,
                    &u->under_second_key) ||
        u->totp_secret.n != TOTP_SECRET_BYTES)
        document_cannot_open(r, "TotpSecret");
    u->totp_used = used_once_read(r, "TotpStep", "TotpEarlierSteps");
    u->recovery = read_hashes(r, "RecoverySha256");
}

static void read_passkeys(struct document_reader *r, struct user *u)
{
    struct passkey keys[PASSKEYS_PER_USER];
    const struct json *list = json_member(r->fields.body, "Passkeys");
    size_t count = 0;
    if (!passkeys_read(r->arena, list, keys, &count))
        document_wrong(r, "Passkeys");
    user_set_passkeys(u, r->arena, keys, count);
}

static void read_mail(struct document_reader *r, struct user *u)
{
    const struct json *chosen = json_member(r->fields.body, "Mail");
    for (int about = 0; about < MAIL_ABOUTS && chosen; about++) {
        const struct json *when = json_member(chosen, mail_about_name((enum mail_about)about));
        if (when && (when->type != JSON_STRING || !mail_when_parse(when->text, &u->mail[about])))
            document_wrong(r, "Mail");
    }
}

bool user_read_document(struct arena *arena, const struct json *document, const struct vault *vault,
                        struct user **ret, struct str *ret_why)
{
    struct document_reader r;
    document_read_begin(&r, arena, document, vault);
    struct user u = {
        .user_no = (uint32_t)document_number(&r, "UserNo", 1, DOCUMENT_NUMBER_MAX),
        .version = (uint64_t)document_number(&r, "Version", 1, INT64_MAX),
        .account_no = (uint32_t)document_number(&r, "AccountNo", 0, DOCUMENT_NUMBER_MAX),
        .id = document_id(&r, "UserId"),
        .email = document_text(&r, "Email"),
        .name = document_text(&r, "Name"),
        .enabled = document_flag(&r, "Enabled"),
        .created_ms = document_number(&r, "CreatedMs", 0, INT64_MAX),
        .last_sign_in_ms = document_number(&r, "LastSignInMs", 0, INT64_MAX),
    };
    if (!role_parse(document_text(&r, "Role"), &u.role) ||
        role_is_operators(u.role) != (u.account_no == 0))
        document_wrong(&r, "Role");
    fields_text(&r.fields, "Issuer", 0, SIZE_MAX, &u.issuer);
    fields_text(&r.fields, "Subject", 0, SIZE_MAX, &u.subject);
    fields_text(&r.fields, "Password", 0, SIZE_MAX, &u.password);
    if (u.password.n >= PASSWORD_HASH_BYTES)
        document_wrong(&r, "Password");
    if (fields_given(&r.fields, "TotpSecret"))
        read_second_factor(&r, &u);
    if (fields_given(&r.fields, "Passkeys"))
        read_passkeys(&r, &u);
    if (fields_given(&r.fields, "Link")) {
        u.link = (enum link_kind)document_number(&r, "Link", LINK_INVITATION, LINK_RESET);
        read_hash(&r, "LinkSha256", u.link_hash);
        u.link_until_ms = document_number(&r, "LinkUntilMs", 0, INT64_MAX);
        u.link_made_ms = document_number(&r, "LinkMadeMs", 0, INT64_MAX);
        fields_text(&r.fields, "LinkBy", 0, SIZE_MAX, &u.link_by);
        if (fields_given(&r.fields, "MailOwedMs"))
            u.mail_owed_ms = document_number(&r, "MailOwedMs", 0, INT64_MAX);
    }
    if (fields_given(&r.fields, "ResetMailOwedMs"))
        u.reset_mail_ms = document_number(&r, "ResetMailOwedMs", 0, INT64_MAX);
    read_mail(&r, &u);
    u.links_from_ms = document_number(&r, "LinksFromMs", 0, INT64_MAX);
    if (!document_read_end(&r, "user", u.id, ret_why))
        return false;
    *ret = user_pack(&u);
    return true;
}

bool session_read_document(struct arena *arena, const struct json *document, struct session **ret,
                           struct str *ret_why)
{
    struct document_reader r;
    document_read_begin(&r, arena, document, NULL);
    struct session s = {
        .id = document_id(&r, "SessionId"),
        .user_id = document_text(&r, "UserId"),
        .created_ms = document_number(&r, "CreatedMs", 0, INT64_MAX),
        .stored_used_ms = document_number(&r, "UsedMs", 0, INT64_MAX),
        .acting_no = (uint32_t)document_number(&r, "ActingNo", 0, DOCUMENT_NUMBER_MAX),
        .address = document_text(&r, "Address"),
    };
    read_hash(&r, "Sha256", s.hash);
    fields_text(&r.fields, "Agent", 0, SIZE_MAX, &s.agent);
    if (!document_read_end(&r, "session", s.id, ret_why))
        return false;
    atomic_init(&s.used_ms, s.stored_used_ms);
    *ret = session_pack(&s);
    return true;
}
