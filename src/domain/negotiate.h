/* What a client takes, and which version of a thing it means: lists, weights and entity tags of
 * RFC 9110 (5.6.1, 8.8.3, 12.4.2, 12.5). A header that stands on several lines is given joined by
 * commas. */
#pragma once

#include "base/check.h"
#include "base/str.h"

/* How much an Accept header wants a media type. */
struct media_wish {
    int quality; /* 0..1000; 0: not at all */
    int named;   /* how closely: 0 not at all, 1 as any type, 2 as any of its kind, 3 by itself */
};
struct media_wish accept_media(struct str accept, const char *type);
/* Whether the first is wanted more, or as much and named more closely. */
bool accept_prefers(struct str accept, const char *first, const char *second);

/* Whether each charset that a Content-Type names is UTF-8; true where it names none. */
bool media_is_utf8(struct str content_type);

enum coding { CODING_NONE, CODING_IDENTITY, CODING_GZIP, CODING_ZSTD };
const char *coding_name(enum coding coding);

/* The Content-Encoding for this Accept-Encoding of what can be had plain, as gzip and, where
 * has_zstd, as zstd, which is preferred; absent: identity. CODING_NONE: the client takes none. */
enum coding accept_coding(struct str accept_encoding, bool has_zstd);
/* Whether it refuses what is not encoded. */
bool accept_refuses_identity(struct str accept_encoding);

/* Whether If-Match names this entity tag or is "*": by the strong comparison, for which a weak tag
 * is never the same. */
bool etag_listed_strong(struct str list, struct str etag);
/* Whether If-None-Match does: W/ makes no difference. */
bool etag_listed_weak(struct str list, struct str etag);
