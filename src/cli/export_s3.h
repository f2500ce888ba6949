/* An export to an S3-compatible service: uploads s3://BUCKET/KEY in parts. KEY.part.state, an
 * object beside it, has the progress, so a killed run can be continued on any machine. The object
 * appears whole, with the last request but one. */
#pragma once

#include "cli/export_file.h"

bool export_s3_is_url(const char *name);
/* Credentials, region and endpoint come from the environment. NULL: it has printed why. */
struct export_s3 *export_s3_open(const char *url, struct str identity, struct export_place *place,
                                 int64_t *ret_bytes);
/* As export_file_add and export_file_end; rows become durable in parts. */
MUST_CHECK bool export_s3_add(struct export_s3 *s, struct str rows,
                              const struct export_place *place);
MUST_CHECK bool export_s3_end(struct export_s3 *s);
void export_s3_close(struct export_s3 *s); /* accepts NULL */
