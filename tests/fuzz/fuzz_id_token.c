/* An ID token's claims, and a token in compact form with a set of keys behind it (after 0xff), as a
 * provider that has gone bad sends them. What is believed has a subject and a role or none. */
#include "fuzz.h"

#include "oidc/id_token.h"
#include "oidc/token_signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct arena arena = {0};
    struct provider_group groups[] = {{STR("staff"), ROLE_SUPPORT}};
    struct provider provider = {.issuer = STR("https://id.example"),
                                .client_id = STR("c"),
                                .groups_claim = STR("groups"),
                                .groups = groups,
                                .group_count = 1};
    struct str rest = {(const char *)data, data_bytes}, claims_text;
    struct id_claims claims;
    const char *why = NULL;
    if (data_bytes == 0)
        return 0;
    if (id_token_judge(&arena, rest, &provider, STR("n"), (int64_t)1800000000 * 1000, &claims,
                       &why)) {
        ASSERT(claims.subject.n >= 1 && claims.subject.n <= SUBJECT_BYTES_MOST);
        ASSERT(claims.role == ROLE_NONE || claims.role == ROLE_SUPPORT);
    } else {
        ASSERT(why);
    }
    struct str token = str_cut(&rest, (char)0xff);
    if (rest.p && signature_judge(&arena, token, rest, &claims_text, &why) == SIGNATURE_GOOD)
        ASSERT(claims_text.p);
    arena_free(&arena);
    return 0;
}
