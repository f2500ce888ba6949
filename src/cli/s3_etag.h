/* The ETag that S3 and most compatible services give to an object uploaded in parts. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* parts: as in CompleteMultipartUpload, each with its ETag. False: the ETags are no MD5s, so the
 * object's ETag is not known. */
MUST_CHECK bool s3_etag_of_parts(struct str parts, struct buf *to);
