/* Hides in a receiver's answer what only the receiver may know, before anybody sees the answer. */
#pragma once

#include "domain/signature.h"

/* Replaces secrets that a receiver has echoed with asterisks: the attempt's Sig (its hex digits in
 * either case, and the base64 of its bytes in either alphabet), and the URL's "user:password",
 * absent if it has none (as Basic credentials, RFC 7617, and the password alone if it has at least
 * 8 bytes). Also at the end of the text, where they may be cut off. */
void answer_hide_secrets(char *text, size_t n, const char hex[SIG_HEX_BYTES], struct str userinfo);
