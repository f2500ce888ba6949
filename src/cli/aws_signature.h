/* AWS Signature Version 4
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). libcurl's own,
 * in Debian 12, leaves x-amz-content-sha256 out and signs a header that is not sent. */
#pragma once

#include "base/buf.h"

struct aws_credentials {
    struct str key_id, secret, token, region; /* token absent: none */
};

struct aws_request {
    const char *method;
    struct str host, path, query; /* escaped, the query's members in their order by name */
    struct str body;
    int64_t now_ms;
};

#define AWS_HEX_BYTES 65
struct aws_signed {
    char date[20]; /* x-amz-date */
    char body_hash[AWS_HEX_BYTES];
    struct buf authorization; /* to be freed */
};

/* Signs Host, these headers, and x-amz-security-token if there is one. */
void aws_sign(const struct aws_credentials *as, const struct aws_request *request,
              struct aws_signed *ret);
