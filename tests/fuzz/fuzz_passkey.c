/* What a browser gives of a passkey, as JSON: a new one, or one that signs in. What is believed has
 * a key that can be used, and nobody signs with one that is not theirs. */
#include "fuzz.h"

#include "people/passkey.h"
#include "json/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct arena arena = {0};
    struct json *given = NULL;
    struct passkey made = {0}, said = {0};
    struct passkey_ask ask = {.is_new = true,
                              .challenge = STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
                              .origin = STR("https://callbacks.example"),
                              .rp_id = STR("callbacks.example")};
    struct str text = {(const char *)data, data_bytes}, why = STR_NONE;
    if (data_bytes && json_parse(&arena, text, &given, &why)) {
        struct str user = passkey_user_of(&arena, given);
        ASSERT(user.n <= 64);
        if (!passkey_judge(&arena, given, &ask, STR_NONE, &made))
            ASSERT(made.key.n && made.credential.n && made.sign_count <= UINT32_MAX);
        ask.is_new = false;
        const struct json *response = json_member(given, "response");
        struct str key = response ? json_member_text(response, "publicKey") : STR_NONE;
        if (!passkey_judge(&arena, given, &ask, key, &said))
            ASSERT(said.sign_count >= 0 && said.sign_count <= UINT32_MAX);
    }
    arena_free(&arena);
    return 0;
}
