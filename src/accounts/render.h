/* Prints entries as the API answers them (contract, section 6), one JSON object each. A Callback
 * Secret or the text of a key is printed only if the caller passes it, which happens only when one
 * is created. */
#pragma once

#include "accounts/accounts.h"
#include "json/writer.h"

void render_partner(struct json_writer *w, const struct partner *p);
void render_app(struct json_writer *w, const struct app *a, bool with_secret);
/* "OlderSecretUntil": when the last of the older secrets ends, or null. */
void render_older_until(struct json_writer *w, const struct secrets *s, int64_t now_ms);
void render_client(struct json_writer *w, const struct client *c);
/* creator: the person who made it; absent: not shown. creator_gone: the person was removed or
 * disabled. */
void render_key(struct json_writer *w, const struct api_key *k, struct str key_text,
                struct str creator, bool creator_gone);

/* The ETag of a version, quotes included, and what If-Match says about it (RFC 9110, section
 * 13.1.1): "*", or a list with the same strong tag. Without If-Match, every version matches. */
#define ETAG_MAX 32
void etag_print(char ret_text[ETAG_MAX], uint64_t version);
bool etag_matches(struct str if_match, uint64_t version);
