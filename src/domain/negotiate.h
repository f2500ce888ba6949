/* What a client accepts, and which version of a resource it refers to: lists, weights and entity
 * tags of RFC 9110 (5.6.1, 8.8.3, 12.4.2, 12.5). A header with several lines is passed joined by
 * commas. */
#pragma once

#include "base/check.h"
#include "base/str.h"

/* How strongly an Accept header prefers a media type. */
struct media_wish {
    int quality; /* 0..1000; 0: not accepted */
    int named;   /* how closely: 0 not at all, 1 as any type, 2 as any subtype, 3 exactly */
};
struct media_wish accept_media(struct str accept, const char *type);
/* True if the first is preferred, or equally preferred and named more closely. */
bool accept_prefers(struct str accept, const char *first, const char *second);

/* True if every charset in a Content-Type is UTF-8, or it has none. */
bool media_is_utf8(struct str content_type);

enum coding { CODING_NONE, CODING_IDENTITY, CODING_GZIP, CODING_ZSTD };
const char *coding_name(enum coding coding);

/* The Content-Encoding for this Accept-Encoding: gzip, or zstd, which is preferred if has_zstd;
 * absent: identity. CODING_NONE: the client accepts none of them. */
enum coding accept_coding(struct str accept_encoding, bool has_zstd);
/* True if it refuses identity. */
bool accept_refuses_identity(struct str accept_encoding);

/* True if If-Match names this entity tag or is "*": strong comparison, in which a weak tag never
 * matches. */
bool etag_listed_strong(struct str list, struct str etag);
/* The same for If-None-Match: weak comparison. */
bool etag_listed_weak(struct str list, struct str etag);
