/* libcurl's settings for a provider; see fetch.h. */
#include "oidc/fetch.h"

#include "net/socket.h"

#include <curl/curl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES_MOST ((size_t)512 * 1024)
#define TIMEOUT_MS 10000L

struct fetch_answer {
    struct buf *to;
    bool too_large;
};

static size_t take(char *p, size_t size, size_t n, void *context)
{
    struct fetch_answer *a = context;
    a->too_large = a->to->n + size * n > ANSWER_BYTES_MOST;
    if (a->too_large)
        return 0;
    buf_add(a->to, p, size * n);
    return size * n;
}

static int progressed(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct fetch *f = context;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(f->stopping);
}

static bool may_reach(const struct fetch *f, const struct sockaddr *to)
{
    struct address a = {.family = to->sa_family};
    if (to->sa_family == AF_INET)
        memcpy(a.bytes, &((const struct sockaddr_in *)(const void *)to)->sin_addr, 4);
    else if (to->sa_family == AF_INET6)
        memcpy(a.bytes, &((const struct sockaddr_in6 *)(const void *)to)->sin6_addr, 16);
    else
        return false;
    enum destination_verdict verdict = destination_judge(f->rules, &a);
    return verdict == DESTINATION_ALLOWED ||
           (verdict == DESTINATION_PUBLIC && !socket_is_own_address(&a));
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *to)
{
    const struct fetch *f = context;
    (void)purpose;
    if (f->rules && !f->proxy && !may_reach(f, &to->addr))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static void set_up(CURL *curl, const struct fetch *f, struct fetch_answer *answer, char *error)
{
    curl_easy_setopt(curl, CURLOPT_URL, f->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_PROXY, f->proxy ? f->proxy : "");
    /* Addresses that the provider names always go through the proxy: without one, may_reach checks
     * them. */
    curl_easy_setopt(curl, CURLOPT_NOPROXY, f->rules ? "" : "localhost,127.0.0.1,::1");
    if (f->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, f->ca_file);
    if (f->form)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, f->form);
    if (f->user) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, f->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, f->password);
    }
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progressed);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, f);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, f);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
}

enum fetch_verdict fetch_run(const struct fetch *f, struct buf *ret, char ret_why[FETCH_WHY_BYTES])
{
    char error[CURL_ERROR_SIZE] = "";
    struct fetch_answer answer = {.to = ret};
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
    CURL *curl = curl_easy_init();
    long status = 0;
    ASSERT(curl && headers);
    set_up(curl, f, &answer, error);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer.too_large)
        snprintf(ret_why, FETCH_WHY_BYTES, "%.120s: the answer is too large", f->url);
    else if (code != CURLE_OK)
        snprintf(ret_why, FETCH_WHY_BYTES, "%.120s: %.100s", f->url,
                 error[0] ? error : curl_easy_strerror(code));
    else if (status != 200)
        snprintf(ret_why, FETCH_WHY_BYTES, "%.120s: answered %ld", f->url, status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK && !answer.too_large)
        return FETCH_UNREACHABLE;
    return code == CURLE_OK && status == 200 ? FETCH_GOOD : FETCH_REFUSED;
}
