/* Hides in a receiver's answer what only the receiver may know, before anybody sees the answer. */
#pragma once

#include "domain/signature.h"

/* Replaces with asterisks what a receiver has echoed and only it may know. That Sig: its digits in
 * either case, the base64 of its bytes in either alphabet. The "user:password" of the URL, absent
 * if it has none: as Basic credentials (RFC 7617), and the password itself if it has at least 8
 * bytes. All of them also where only their beginning is at the end of a text that was cut off. */
void answer_hide_secrets(char *text, size_t n, const char hex[SIG_HEX_BYTES], struct str userinfo);
