/* The MD5 of the parts' MD5s, a dash and the number of parts, in quotes. */
#include "cli/s3_etag.h"

#include <openssl/evp.h>

#define MD5_BYTES 16
#define BEGIN "<ETag>\""
#define END "\"</ETag>"

static bool add_md5(struct buf *to, const char *hex)
{
    for (size_t i = 0; i < MD5_BYTES; i++, hex += 2) {
        int high = hex_value(hex[0]), low = hex_value(hex[1]);
        if (high < 0 || low < 0)
            return false;
        buf_add_char(to, (char)(high << 4 | low));
    }
    return true;
}

/* Reads the MD5s of all parts and their number. False: an ETag is no MD5. */
static bool read_md5s(struct str parts, struct buf *ret, int *ret_count)
{
    const size_t whole = strlen(BEGIN) + 2 * MD5_BYTES + strlen(END);
    const char *at = parts.p, *end = parts.p + parts.n;
    *ret_count = 0;
    while ((at = memmem(at, (size_t)(end - at), "<ETag>", 6))) {
        const char *hex = at + strlen(BEGIN);
        if ((size_t)(end - at) < whole || memcmp(at, BEGIN, strlen(BEGIN)) != 0 ||
            memcmp(hex + 2 * MD5_BYTES, END, strlen(END)) != 0 || !add_md5(ret, hex))
            return false;
        at += whole;
        (*ret_count)++;
    }
    return *ret_count > 0;
}

bool s3_etag_of_parts(struct str parts, struct buf *to)
{
    struct buf md5s = {0};
    unsigned char hash[MD5_BYTES];
    char hex[2 * MD5_BYTES];
    int count;
    bool good = read_md5s(parts, &md5s, &count) &&
                EVP_Digest(md5s.p, md5s.n, hash, NULL, EVP_md5(), NULL) == 1;
    if (good) {
        hex_print(hex, hash, sizeof hash);
        buf_printf(to, "\"%.*s-%d\"", (int)sizeof hex, hex, count);
    }
    buf_free(&md5s);
    return good;
}
