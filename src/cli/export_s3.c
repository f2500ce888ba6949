/* S3's multipart upload. A part has 5 MiB: its rows are held in memory, and a continued run writes
 * at most that much again. A smaller export is put in one request. */
#include "cli/export_s3.h"

#include "base/alloc.h"
#include "base/env.h"
#include "cli/aws_signature.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/export_state.h"
#include "cli/s3_etag.h"
#include "domain/url_macros.h"

#include <stdlib.h>
#include <unistd.h>

#define SCHEME "s3://"
#define PART_BYTES (5u << 20) /* S3's minimum for a part that is not the last */
#define PARTS_MOST 10000      /* S3's own limit */
#define TRIES 5
#define SHOWN_BYTES 300

struct export_s3 {
    const char *url;
    struct str identity;
    struct client_session *client;
    struct aws_credentials as;
    struct buf host;
    struct buf path, state_path; /* of the object and its state */
    struct buf upload;           /* its id, escaped for a query; empty: not begun */
    struct buf parts;            /* <Part> elements of the last request */
    struct buf rows, answer;
    int part_count;
    int64_t bytes; /* in parts */
};

bool export_s3_is_url(const char *name)
{
    return str_has_prefix(str_of(name), SCHEME);
}

/* --- requests --------------------------------------------------------------------------------- */

static void sign(struct export_s3 *s, const char *method, struct str path, struct str body)
{
    struct aws_signed is;
    struct str query = path, bare = str_cut(&query, '?');
    struct aws_request r = {.method = method,
                            .host = buf_str(&s->host),
                            .path = bare,
                            .query = query.p ? query : STR(""),
                            .body = body,
                            .now_ms = env_wall_ms(env_real())};
    aws_sign(&s->as, &r, &is);
    client_add_header(s->client, "x-amz-date", str_of(is.date));
    client_add_header(s->client, "x-amz-content-sha256", str_of(is.body_hash));
    client_add_header(s->client, "Authorization", buf_str(&is.authorization));
    if (s->as.token.p)
        client_add_header(s->client, "x-amz-security-token", s->as.token);
    buf_free(&is.authorization);
}

static struct str between(struct str text, const char *begin, const char *end)
{
    const char *from = text.n ? memmem(text.p, text.n, begin, strlen(begin)) : NULL;
    if (!from)
        return STR_NONE;
    from += strlen(begin);
    size_t left = text.n - (size_t)(from - text.p);
    const char *to = memmem(from, left, end, strlen(end));
    return to ? (struct str){from, (size_t)(to - from)} : STR_NONE;
}

/* Also with status 200: the answer to a POST begins before the service has joined the parts. */
static bool is_error(const struct export_s3 *s, const char *method, int status)
{
    return status != 200 ||
           (strcmp(method, "POST") == 0 && between(buf_str(&s->answer), "<Error>", "</Error>").p);
}

static bool may_pass(const struct export_s3 *s, const char *method, int status)
{
    return status == 0 || status >= 500 || (status == 200 && is_error(s, method, status));
}

/* Tries again after errors that may pass. */
static int request(struct export_s3 *s, const char *method, struct buf *path, struct str body)
{
    for (int tries = 1;; tries++) {
        sign(s, method, buf_str(path), body.p ? body : STR(""));
        int status = client_request(s->client, method, buf_c(path), "application/octet-stream",
                                    body, &s->answer);
        if (!may_pass(s, method, status) || tries == TRIES)
            return status;
        sleep(1);
    }
}

static bool fail(struct export_s3 *s, const char *what, int status)
{
    struct str said = buf_str(&s->answer);
    said.n = said.n < SHOWN_BYTES ? said.n : SHOWN_BYTES;
    command_fail(1, "%s: %s: %d %.*s", s->url, what, status, STR_ARG(said));
    return false;
}

static bool put(struct export_s3 *s, struct buf *path, struct str body)
{
    int status = request(s, "PUT", path, body);
    return status == 200 || fail(s, "it cannot be written", status);
}

/* The signed path has only the necessary escapes: a slash of the key needs none. */
static void add_path(struct buf *to, struct str path)
{
    while (path.p) {
        buf_add_char(to, '/');
        url_encode(to, str_cut(&path, '/'));
    }
}

/* --- the upload ------------------------------------------------------------------------------- */

static bool begin_upload(struct export_s3 *s)
{
    struct buf path = {0};
    buf_printf(&path, "%s?uploads=", buf_c(&s->path));
    int status = request(s, "POST", &path, STR(""));
    struct str id = between(buf_str(&s->answer), "<UploadId>", "</UploadId>");
    if (status == 200 && id.n)
        url_encode(&s->upload, id);
    buf_free(&path);
    return s->upload.n > 0 || fail(s, "no upload can be begun", status);
}

static bool upload_part(struct export_s3 *s)
{
    struct buf path = {0}, etag = {0};
    int number = s->part_count + 1;
    if (number > PARTS_MOST) {
        command_fail(1, "%s would be too large; export fewer days at a time.", s->url);
        return false;
    }
    buf_printf(&path, "%s?partNumber=%d&uploadId=%s", buf_c(&s->path), number, buf_c(&s->upload));
    bool good = put(s, &path, buf_str(&s->rows));
    if (good && !client_answer_header(s->client, "ETag", &etag))
        good = fail(s, "a part has no ETag", 200);
    if (good) {
        buf_printf(&s->parts, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", number,
                   buf_c(&etag));
        s->part_count = number;
        s->bytes += (int64_t)s->rows.n;
        buf_clear(&s->rows);
    }
    buf_free(&etag);
    buf_free(&path);
    return good;
}

/* True if the object consists of these parts. */
static bool is_joined(struct export_s3 *s)
{
    struct buf size = {0}, etag = {0}, wanted = {0};
    uint64_t bytes;
    struct buf refusal = s->answer; /* for the message, if it does not */
    s->answer = (struct buf){0};
    bool good = request(s, "HEAD", &s->path, STR_NONE) == 200 &&
                client_answer_header(s->client, "Content-Length", &size) &&
                str_parse_uint(buf_str(&size), INT64_MAX, &bytes) && (int64_t)bytes == s->bytes;
    if (good && s3_etag_of_parts(buf_str(&s->parts), &wanted))
        good = client_answer_header(s->client, "ETag", &etag) &&
               str_eq(buf_str(&etag), buf_str(&wanted));
    buf_free(&s->answer);
    s->answer = refusal;
    buf_free(&size);
    buf_free(&etag);
    buf_free(&wanted);
    return good;
}

/* The service no longer knows an upload once it has joined its parts. If its answer was lost, the
 * next try is answered with 404. */
static bool complete_upload(struct export_s3 *s)
{
    struct buf path = {0}, body = {0};
    buf_printf(&path, "%s?uploadId=%s", buf_c(&s->path), buf_c(&s->upload));
    buf_printf(&body, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", buf_c(&s->parts));
    int status = request(s, "POST", &path, buf_str(&body));
    bool good = !is_error(s, "POST", status) || (status == 404 && is_joined(s));
    buf_free(&path);
    buf_free(&body);
    return good || fail(s, "its parts cannot be joined", status);
}

/* --- the state -------------------------------------------------------------------------------- */

static bool save_state(struct export_s3 *s, const struct export_place *place)
{
    struct buf text = {0};
    struct json_writer w;
    json_write_to(&w, &text);
    json_object(&w);
    export_state_print(&w, s->identity, s->bytes, place);
    json_key_string(&w, "UploadId", buf_str(&s->upload));
    json_key_int(&w, "PartCount", s->part_count);
    json_key_string(&w, "Parts", buf_str(&s->parts));
    json_end_object(&w);
    bool good = put(s, &s->state_path, buf_str(&text));
    buf_free(&text);
    return good;
}

/* True if the service still has the upload: it was neither completed nor dropped. */
static bool upload_is_open(struct export_s3 *s)
{
    struct buf path = {0};
    buf_printf(&path, "%s?max-parts=1&uploadId=%s", buf_c(&s->path), buf_c(&s->upload));
    int status = request(s, "GET", &path, STR_NONE);
    buf_free(&path);
    return status == 200;
}

static bool take_state(struct export_s3 *s, const struct json *state, struct export_place *place)
{
    if (!export_state_is_whole(state))
        return true;
    if (!export_state_is_of(state, s->identity))
        return command_fail(1,
                            "%s is of another export. To continue that one, give its options; to "
                            "drop it, delete the object %s.part.state.",
                            s->url, s->url) == 0;
    buf_add_str(&s->upload, json_member_text(state, "UploadId"));
    if (!upload_is_open(s)) { /* then this run begins anew */
        buf_clear(&s->upload);
        return true;
    }
    buf_add_str(&s->parts, json_member_text(state, "Parts"));
    s->part_count = (int)export_state_int(state, "PartCount");
    s->bytes = export_state_int(state, "Bytes");
    export_state_take_place(state, place);
    return true;
}

static bool read_state(struct export_s3 *s, struct export_place *place)
{
    struct arena arena = {0};
    struct json *state = NULL;
    struct str why;
    int status = request(s, "GET", &s->state_path, STR_NONE);
    bool good = status == 404 || status == 200 || fail(s, "its state cannot be read", status);
    if (status == 200 && json_parse(&arena, arena_str(&arena, buf_str(&s->answer)), &state, &why))
        good = take_state(s, state, place);
    arena_free(&arena);
    return good;
}

/* --- the export's side ------------------------------------------------------------------------ */

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* The bucket is in the path, not in the host name: few services except AWS have a host name per
 * bucket. */
static bool connect_to(struct export_s3 *s)
{
    const char *region = variable("AWS_REGION", variable("AWS_DEFAULT_REGION", "us-east-1")),
               *key_id = variable("AWS_ACCESS_KEY_ID", NULL),
               *secret = variable("AWS_SECRET_ACCESS_KEY", NULL),
               *endpoint = variable("AWS_ENDPOINT_URL", NULL);
    struct buf base = {0};
    if (!key_id || !secret) {
        command_fail(EXIT_USAGE, "s3:// needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
                                 "environment.");
        return false;
    }
    if (endpoint)
        buf_add_c(&base, endpoint);
    else
        buf_printf(&base, "https://s3.%s.amazonaws.com", region);
    struct str token = str_of(variable("AWS_SESSION_TOKEN", ""));
    s->as = (struct aws_credentials){str_of(key_id), str_of(secret), token.n ? token : STR_NONE,
                                     str_of(region)};
    struct str host = str_trim_end(buf_str(&base), '/');
    const char *scheme = memmem(host.p, host.n, "://", 3);
    if (scheme)
        host = (struct str){scheme + 3, host.n - (size_t)(scheme + 3 - host.p)};
    buf_add_str(&s->host, host);
    s->client = client_open(buf_str(&base), STR_NONE);
    buf_free(&base);
    return true;
}

struct export_s3 *export_s3_open(const char *url, struct str identity, struct export_place *place,
                                 int64_t *ret_bytes)
{
    struct export_s3 *s = xcalloc(1, sizeof *s);
    s->url = url;
    s->identity = identity;
    const char *bucket = url + strlen(SCHEME), *slash = strchr(bucket, '/');
    bool good = slash && slash > bucket && slash[1];
    if (!good)
        command_fail(EXIT_USAGE, "%s is not s3://BUCKET/KEY.", url);
    add_path(&s->path, str_of(bucket));
    buf_printf(&s->state_path, "%s.part.state", buf_c(&s->path));
    if (good && connect_to(s) && read_state(s, place)) {
        *ret_bytes = s->bytes;
        return s;
    }
    export_s3_close(s);
    return NULL;
}

bool export_s3_add(struct export_s3 *s, struct str rows, const struct export_place *place)
{
    buf_add_str(&s->rows, rows);
    if (s->rows.n < PART_BYTES || !place)
        return true;
    return (s->upload.n || begin_upload(s)) && upload_part(s) && save_state(s, place);
}

/* A crash before the state is deleted leaves one of a finished upload: the next run begins
 * again. */
bool export_s3_end(struct export_s3 *s)
{
    if (!s->upload.n)
        return put(s, &s->path, buf_str(&s->rows));
    if (s->rows.n && !upload_part(s))
        return false;
    if (!complete_upload(s))
        return false;
    int status = request(s, "DELETE", &s->state_path, STR_NONE);
    return status == 204 || status == 200 || fail(s, "its state cannot be deleted", status);
}

void export_s3_close(struct export_s3 *s)
{
    if (!s)
        return;
    struct buf *const all[] = {&s->host,  &s->path, &s->state_path, &s->upload,
                               &s->parts, &s->rows, &s->answer};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_free(all[i]);
    if (s->client)
        client_close(s->client);
    free(s);
}
