/* Prints entries as the JSON documents that the store keeps, and reads them. Callback Secrets, and
 * URLs that contain a user and password, are encrypted in a document (vault.h). Of an API key, a
 * document has only the SHA-256. */
#pragma once

#include "accounts/accounts.h"
#include "accounts/vault.h"
#include "json/reader.h"
#include "json/writer.h"

/* A sealed URL begins with it; no other URL can. */
#define DOCUMENT_SEALED_URL "sealed:"

void document_print_partner(struct buf *to, const struct partner *p, const struct vault *vault,
                            struct env *env);
void document_print_app(struct buf *to, const struct app *a, const struct vault *vault,
                        struct env *env);
/* The members from LegacyFields to WithholdTests, which are the same in a document and an
 * answer. */
void document_print_app_choices(struct json_writer *w, const struct app *a);
void document_print_client(struct buf *to, const struct client *c);
void document_print_key(struct buf *to, const struct api_key *k);

/* A new entry with one reference. On failure *ret_why is a sentence without any secret. `arena`
 * is for working memory only. */
MUST_CHECK bool document_read_partner(struct arena *arena, const struct json *document,
                                      const struct vault *vault, struct partner **ret,
                                      struct str *ret_why);
MUST_CHECK bool document_read_app(struct arena *arena, const struct json *document,
                                  const struct vault *vault, struct app **ret, struct str *ret_why);
MUST_CHECK bool document_read_client(struct arena *arena, const struct json *document,
                                     struct client **ret, struct str *ret_why);
MUST_CHECK bool document_read_key(struct arena *arena, const struct json *document,
                                  struct api_key **ret, struct str *ret_why);
