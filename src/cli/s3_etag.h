/* The ETag that S3 and most services like it give to an object that was uploaded in parts. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* `parts` as CompleteMultipartUpload names them, each with its ETag. False: these ETags are no
 * MD5s, so the object's cannot be known. */
MUST_CHECK bool s3_etag_of_parts(struct str parts, struct buf *to);
