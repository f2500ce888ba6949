/* Allocates entries of the directory. One block holds the struct and every text that it points at:
 * a hundred thousand clients use little memory, and the last reference frees the block. Internal to
 * accounts/ and people/. */
#pragma once

#include "accounts/accounts.h"

/* Copies of a filled-in template, whose texts may be borrowed from anywhere, with one reference.
 * `magic` and `refs` of the template do not matter. */
struct partner *partner_pack(const struct partner *from);
struct client *client_pack(const struct client *from);
struct api_key *api_key_pack(const struct api_key *from);
/* Fills in `parsed` and terms.has_url from `url`. On failure *ret_why says which URL is wrong. */
MUST_CHECK bool app_pack(const struct app *from, struct app **ret_app, const char **ret_why);

/* Any kind of entry: a struct of `bytes` bytes that begins with its magic number and references;
 * `texts` are the offsets of every struct str in it. */
void *entry_pack(const void *from, size_t bytes, uint32_t magic, const size_t *texts,
                 size_t text_count);
void *entry_ref(void *entry);
void entry_unref(void *entry);
