/* What somebody pastes to learn why a Sig does not match: ids, Sig, Signature and secret, separated
 * by 0xff. It matches exactly where it should, every other answer has its sentence, and none quotes
 * the secret. */
#include "fuzz.h"

#include "base/check.h"
#include "domain/signature.h"
#include "domain/verify_sig.h"

#include <string.h>

#define PIECES 5
#define SECRET STR("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")

/* An empty piece is an absent one. */
static struct str next_piece(struct str *rest)
{
    struct str piece = *rest;
    const char *end = rest->n > 0 ? memchr(rest->p, 0xff, rest->n) : NULL;
    if (end) {
        piece.n = (size_t)(end - rest->p);
        rest->n -= piece.n + 1;
        rest->p = end + 1;
    } else {
        rest->n = 0;
    }
    return piece.n > 0 ? piece : STR_NONE;
}

static bool is_right(const struct verify_input *in)
{
    char sig[SIG_HEX_BYTES];
    if (!in->panelist_id.p || !in->reward_id.p)
        return false;
    signature_sig(in->panelist_id, in->reward_id, in->secret, sig);
    return str_eq(in->sig, (struct str){sig, sizeof sig});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str rest = {(const char *)data, data_bytes};
    struct str pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        pieces[i] = next_piece(&rest);
    struct verify_input in = {pieces[0], pieces[1], pieces[2], pieces[3], pieces[4]};
    const char *wrong;
    if (!in.secret.p || !signature_secret_valid(in.secret, &wrong))
        in.secret = SECRET;
    struct buf why = {0};
    enum verify_cause cause = verify_sig(&in, &why);
    ASSERT((cause == VERIFY_OK) == is_right(&in));
    ASSERT((cause == VERIFY_OK) == (why.n == 0));
    ASSERT(verify_cause_name(cause) != NULL && !memchr(buf_c(&why), '\n', why.n));
    /* Any other may stand in a sentence by chance. */
    if (str_eq(in.secret, SECRET) && !memmem(data, data_bytes, SECRET.p + 6, SECRET.n - 6))
        ASSERT(!memmem(buf_c(&why), why.n, in.secret.p, in.secret.n));
    buf_free(&why);
    return 0;
}
