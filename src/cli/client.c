/* Uses libcurl: a command that posts to a daemon needs no HTTP client of our own. */
#include "cli/client.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "cli/command.h"

#include <curl/curl.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CA_FILE_BYTES_MOST (16 << 20)
#define TRIES 90        /* one per second: longer than a key's minute of requests */
#define UNKNOWN_TRIES 3 /* for a server that has never answered: its address may be wrong */

struct client_session {
    CURL *curl;
    struct buf base, authorization;
    struct buf failure;         /* why the last request had no answer */
    const char *ca_file;        /* NULL: the system's certificates */
    struct curl_slist *headers; /* for the next request */
    struct buf *answer;         /* of the request under way */
    size_t keep_most;
    bool is_of_url;       /* it was opened for --url and --ca-file */
    bool has_answered;    /* the server has answered at least once */
    bool has_failed_cert; /* the last request failed: the certificate is not trusted */
};

struct client_session *client_open(struct str base_url, struct str key)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    struct client_session *c = xcalloc(1, sizeof *c);
    c->curl = curl_easy_init();
    ASSERT(c->curl);
    c->keep_most = SIZE_MAX;
    buf_add_str(&c->base, str_trim_end(base_url, '/'));
    if (key.p)
        buf_printf(&c->authorization, "Authorization: Bearer %.*s", STR_ARG(key));
    return c;
}

bool client_can_trust(struct settings *s, struct str *ret_why)
{
    struct str file = settings_text(s, OPTION_CA_FILE);
    struct buf text = {0}, why_text = {0};
    char *why = NULL;
    bool is_client = option_table[OPTION_URL].commands & s->command;
    bool good = !is_client || !file.p || file_read(file.p, CA_FILE_BYTES_MOST, &text, NULL, &why);
    if (!good) {
        settings_print_place(&why_text, s, OPTION_CA_FILE, file);
        buf_printf(&why_text, "%s.", why);
        *ret_why = arena_take(&s->arena, &why_text);
    }
    free(why);
    buf_free(&text);
    return good;
}

struct client_session *client_open_server(const struct settings *s, struct str key)
{
    struct client_session *c = client_open(settings_text(s, OPTION_URL), key);
    c->ca_file = settings_text(s, OPTION_CA_FILE).p; /* the arena's copies end with a NUL */
    c->is_of_url = true;
    return c;
}

void client_keep_most(struct client_session *c, size_t bytes)
{
    c->keep_most = bytes;
}

void client_add_header(struct client_session *c, const char *name, struct str value)
{
    struct buf line = {0};
    buf_printf(&line, "%s: %.*s", name, STR_ARG(value));
    c->headers = curl_slist_append(c->headers, buf_c(&line));
    buf_free(&line);
}

bool client_answer_header(struct client_session *c, const char *name, struct buf *to)
{
    struct curl_header *found = NULL;
    bool good = curl_easy_header(c->curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK;
    if (good)
        buf_add_c(to, found->value);
    return good;
}

const char *client_failure(struct client_session *c)
{
    return buf_c(&c->failure);
}

void client_print_answer(struct buf *to, int status, const struct buf *answer)
{
    if (status)
        buf_printf(to, "%d ", status);
    buf_add_str(to, buf_str(answer));
}

void client_add_escaped(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_printf(to, "%%%02X", (unsigned char)text.p[i]);
}

void client_close(struct client_session *c)
{
    curl_slist_free_all(c->headers);
    curl_easy_cleanup(c->curl);
    buf_free(&c->base);
    buf_free(&c->failure);
    if (c->authorization.n)
        explicit_bzero(c->authorization.p, c->authorization.n);
    buf_free(&c->authorization);
    free(c);
}

static size_t take(char *p, size_t size, size_t n, void *context)
{
    struct client_session *c = context;
    size_t room = c->keep_most - c->answer->n;
    buf_add(c->answer, p, size * n < room ? size * n : room);
    return size * n;
}

static void set_up(struct client_session *c, const char *method, const char *url,
                   struct curl_slist *headers, char error[CURL_ERROR_SIZE])
{
    curl_easy_reset(c->curl);
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    if (c->ca_file) {
        curl_easy_setopt(c->curl, CURLOPT_CAINFO, c->ca_file);
        curl_easy_setopt(c->curl, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, error);
}

/* A possible remedy; "": none is known. verified: of the certificate, X509_V_... */
static const char *advice_of(const struct client_session *c, CURLcode result, long verified)
{
    if (!c->is_of_url || result == CURLE_SSL_CACERT_BADFILE)
        return "";
    if (result != CURLE_PEER_FAILED_VERIFICATION)
        return " (is the server running? --url says where)";
    switch (verified) {
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED: /* its chain was not checked: the name comes first */
        return " (--url needs a name that the certificate has)";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return c->ca_file ? " (the file of --ca-file does not have it)"
                          : " (--ca-file FILE trusts it)";
    default: return "";
    }
}

static void note_failure(struct client_session *c, CURLcode result, const char *error)
{
    long verified = X509_V_OK;
    curl_easy_getinfo(c->curl, CURLINFO_SSL_VERIFYRESULT, &verified);
    c->has_failed_cert = result == CURLE_PEER_FAILED_VERIFICATION;
    buf_clear(&c->failure);
    buf_printf(&c->failure, "%s%s", *error ? error : curl_easy_strerror(result),
               advice_of(c, result, verified));
}

/* Ends the request: the status, or 0 with a sentence. */
static int perform(struct client_session *c, struct curl_slist *headers, const char *error,
                   struct buf *ret_answer)
{
    CURLcode result = curl_easy_perform(c->curl);
    long status = 0;
    if (result == CURLE_OK) {
        curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
        c->has_answered = true;
    } else {
        note_failure(c, result, error);
        buf_clear(ret_answer);
        buf_add_str(ret_answer, buf_str(&c->failure));
    }
    curl_slist_free_all(headers);
    c->headers = NULL;
    return (int)status;
}

int client_request(struct client_session *c, const char *method, const char *path,
                   const char *content_type, struct str body, struct buf *ret_answer)
{
    struct buf url = {0}, type = {0};
    char error[CURL_ERROR_SIZE] = "";
    buf_printf(&url, "%s%s", buf_c(&c->base), path);
    buf_printf(&type, "Content-Type: %s", content_type);
    struct curl_slist *headers = curl_slist_append(c->headers, "Expect:");
    if (c->authorization.n)
        headers = curl_slist_append(headers, buf_c(&c->authorization));
    if (body.p)
        headers = curl_slist_append(headers, buf_c(&type));
    buf_clear(ret_answer);
    set_up(c, method, buf_c(&url), headers, error);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
    c->answer = ret_answer;
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(c->curl, CURLOPT_NOBODY,
                         1L); /* otherwise it waits for the announced body */
    if (body.p) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body.p);
    }
    int status = perform(c, headers, error, ret_answer);
    buf_free(&url);
    buf_free(&type);
    return status;
}

static void say_what_is_waited_for(struct client_session *c, int status)
{
    struct buf seconds = {0};
    if (status == 0)
        command_say(stderr, "postbackd: waiting: the server cannot be reached: %s",
                    buf_c(&c->failure));
    else if (client_answer_header(c, "Retry-After", &seconds))
        command_say(stderr, "postbackd: waiting %s s, as the server asks (status %d)",
                    buf_c(&seconds), status);
    buf_free(&seconds);
}

int client_request_patiently(struct client_session *c, const char *method, const char *path,
                             const char *content_type, struct str body,
                             struct client_patience patience, struct buf *ret_answer)
{
    int64_t begin_ms = env_mono_ms(env_real());
    for (int tries = 1;; tries++) {
        int status = client_request(c, method, path, content_type, body, ret_answer);
        bool is_known = status != 0 || c->has_answered || tries < patience.unknown_tries;
        bool is_over = tries == patience.tries || (status == 0 && c->has_failed_cert) ||
                       env_mono_ms(env_real()) - begin_ms >= patience.tries * INT64_C(1000);
        if ((status != 0 && status != 429 && status != 503) || !is_known || is_over)
            return status;
        if (tries == 2)
            say_what_is_waited_for(c, status);
        sleep(1);
    }
}

int client_get_patiently(struct client_session *c, const char *path, struct buf *ret_answer)
{
    return client_request_patiently(c, "GET", path, "", STR_NONE,
                                    (struct client_patience){TRIES, UNKNOWN_TRIES}, ret_answer);
}

bool client_is_id(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!char_in(text.p[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"))
            return false;
    return text.n > 0;
}

struct streaming {
    struct client_session *c;
    const struct client_stream *of;
    bool has_begun, was_silent;
    int64_t began_ms;
};

static size_t take_stream(char *p, size_t size, size_t n, void *context)
{
    struct streaming *s = context;
    long status = 0;
    s->has_begun = true;
    curl_easy_getinfo(s->c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return take(p, size, n, s->c);
    return s->of->take(s->of->context, (struct str){p, size * n}) ? size * n : 0;
}

/* Called about once a second, even if nothing comes. */
static int watch_silence(void *context, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e)
{
    struct streaming *s = context;
    curl_off_t sent_us = 0; /* 0: still connecting */
    (void)a, (void)b, (void)d, (void)e;
    if (s->has_begun || s->was_silent ||
        env_mono_ms(env_real()) - s->began_ms < CLIENT_FIRST_BYTE_S * INT64_C(1000))
        return 0;
    curl_easy_getinfo(s->c->curl, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
    s->was_silent = sent_us > 0;
    if (s->was_silent)
        s->of->silent(s->of->context);
    return 0;
}

int client_stream(struct client_session *c, const char *path, const struct client_stream *stream,
                  struct buf *ret_answer)
{
    struct buf url = {0};
    char error[CURL_ERROR_SIZE] = "";
    struct streaming streaming = {.c = c, .of = stream, .began_ms = env_mono_ms(env_real())};
    buf_printf(&url, "%s%s", buf_c(&c->base), path);
    struct curl_slist *headers = curl_slist_append(c->headers, "Accept: text/event-stream");
    if (c->authorization.n)
        headers = curl_slist_append(headers, buf_c(&c->authorization));
    buf_clear(ret_answer);
    c->answer = ret_answer;
    set_up(c, "GET", buf_c(&url), headers, error);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, 30L);
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)CLIENT_SILENCE_S);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_stream);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &streaming);
    curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, watch_silence);
    curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, &streaming);
    int status = perform(c, headers, error, ret_answer);
    buf_free(&url);
    return status;
}
