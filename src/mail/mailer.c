/* SMTP by libcurl; see mailer.h. */
#include "mail/mailer.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/timing.h"
#include "base/worker.h"
#include "domain/clock.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 60L
#define CONNECT_TIMEOUT_SECONDS 15L
#define SOCKETS_MOST 4 /* libcurl tries two addresses at once */
#define STOP_WAIT_US (INT64_C(5) * 1000 * 1000)

/* The options of one start or change. */
struct mail_server {
    int refs;           /* under the mailer's lock */
    struct arena arena; /* its texts */
    struct mailer_options options;
    bool is_local; /* the server is on this machine, so nobody can listen in */
};

struct mailer {
    pthread_mutex_t lock;
    struct mail_server *server; /* for mails that begin now */
    struct worker *worker;
    atomic_llong stopped_us; /* when mailer_abort was called; 0: not yet */
};

/* --- its server --------------------------------------------------------------------------------
 */

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK && text[0] && strcmp(text, "/") != 0;
    curl_free(text);
    return has;
}

static bool is_scheme(CURLU *url, const char *name)
{
    char *text = NULL;
    bool is = curl_url_get(url, CURLUPART_SCHEME, &text, 0) == CURLUE_OK && !strcmp(text, name);
    curl_free(text);
    return is;
}

bool mailer_url_check(const char *text, const char **ret_why)
{
    CURLU *url = curl_url();
    *ret_why = NULL;
    if (!url || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
        (!is_scheme(url, "smtp") && !is_scheme(url, "smtps")))
        *ret_why = "must be smtp://HOST[:PORT] or smtps://HOST[:PORT].";
    else if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
        *ret_why = "must not have a user; set smtp-user and POSTBACKD_SMTP_PASSWORD.";
    else if (has_part(url, CURLUPART_PATH) || has_part(url, CURLUPART_QUERY) ||
             has_part(url, CURLUPART_FRAGMENT))
        *ret_why = "must end after the host or the port.";
    curl_url_cleanup(url);
    return !*ret_why;
}

/* True for an address in 127.0.0.0/8. A host name that only begins like one may be anybody's. */
static bool is_loopback(const char *host)
{
    struct in_addr address;
    return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

static bool is_local(const char *text)
{
    CURLU *url = curl_url();
    char *host = NULL;
    bool is = url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
              curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              (!strcmp(host, "localhost") || is_loopback(host) || !strcmp(host, "[::1]"));
    curl_free(host);
    curl_url_cleanup(url);
    return is;
}

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_str(arena, str_of(text)).p : NULL;
}

static struct mail_server *server_new(const struct mailer_options *from)
{
    struct mail_server *s = xcalloc(1, sizeof *s);
    s->refs = 1;
    s->options = (struct mailer_options){
        .url = copy(&s->arena, from->url),
        .user = copy(&s->arena, from->user),
        .password = copy(&s->arena, from->password),
        .from = copy(&s->arena, from->from),
        .ca_file = copy(&s->arena, from->ca_file),
    };
    s->is_local = is_local(s->options.url);
    return s;
}

static struct mail_server *take_server(struct mailer *m)
{
    pthread_mutex_lock(&m->lock);
    struct mail_server *s = m->server;
    s->refs++;
    pthread_mutex_unlock(&m->lock);
    return s;
}

static void release_server(struct mailer *m, struct mail_server *s)
{
    pthread_mutex_lock(&m->lock);
    bool is_last = --s->refs == 0;
    pthread_mutex_unlock(&m->lock);
    if (!is_last)
        return;
    arena_free(&s->arena);
    free(s);
}

/* --- one mail ----------------------------------------------------------------------------------
 */

/* The progress of a mail, and the server's last refusal (a line that begins with 4 or 5), cut to
 * fit. The refusal comes from the network: bytes that are not printable ASCII become question
 * marks. */
struct dialogue {
    const struct mailer *mailer;
    bool has_addressed;
    bool has_sent_text; /* at least its beginning: the server may have accepted it */
    char refusal[128];
    size_t refusal_n;
    int sockets[SOCKETS_MOST]; /* that are open; the others are -1 */
};

/* A stop ends a mail at once, unless its text has been sent: the server delivers that mail, and if
 * its answer were not read, the mail would be sent again after the restart. libcurl calls this at
 * least once a second. */
static int progressed(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct dialogue *dialogue = context;
    int64_t stopped_us = atomic_load(&dialogue->mailer->stopped_us);
    (void)a, (void)b, (void)c, (void)d;
    return stopped_us && (!dialogue->has_sent_text || timing_now_us() - stopped_us >= STOP_WAIT_US);
}

static void add_header(struct curl_slist **headers, const char *name, struct str value)
{
    struct buf line = {0};
    buf_printf(&line, "%s: %.*s", name, STR_ARG(value));
    struct curl_slist *more = curl_slist_append(*headers, buf_c(&line));
    ASSERT(more);
    *headers = more;
    buf_free(&line);
}

static const char *domain_of(const char *address)
{
    const char *at = strchr(address, '@');
    return at ? at + 1 : "localhost";
}

static struct curl_slist *make_headers(const struct mail_server *server, const struct mail *mail)
{
    struct curl_slist *headers = NULL;
    struct buf text = {0};
    buf_printf(&text, "postbackd <%s>", server->options.from);
    add_header(&headers, "From", buf_str(&text));
    add_header(&headers, "To", str_of(mail->to));
    add_header(&headers, "Subject", mail->subject);
    buf_clear(&text);
    clock_print_http_date(&text, mail->wall_ms);
    text.n -= strlen("GMT"); /* an obsolete zone here: RFC 5322, section 4.3 */
    buf_add_c(&text, "+0000");
    add_header(&headers, "Date", buf_str(&text));
    buf_clear(&text);
    buf_printf(&text, "<%s@%s>", mail->id, domain_of(server->options.from));
    add_header(&headers, "Message-ID", buf_str(&text));
    add_header(&headers, "Auto-Submitted", STR("auto-generated")); /* RFC 3834 */
    if (mail->settings_url.p) {
        buf_clear(&text);
        buf_printf(&text, "<%.*s>", STR_ARG(mail->settings_url));
        add_header(&headers, "List-Unsubscribe", buf_str(&text)); /* RFC 2369 */
    }
    buf_free(&text);
    return headers;
}

static void set_server(CURL *curl, const struct mail_server *server)
{
    const struct mailer_options *o = &server->options;
    curl_easy_setopt(curl, CURLOPT_URL, o->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* the environment's proxy is for HTTP */
    curl_easy_setopt(curl, CURLOPT_USE_SSL,
                     (long)(server->is_local ? CURLUSESSL_TRY : CURLUSESSL_ALL));
    if (o->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, o->ca_file);
    if (o->user)
        curl_easy_setopt(curl, CURLOPT_USERNAME, o->user);
    if (o->password)
        curl_easy_setopt(curl, CURLOPT_PASSWORD, o->password);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, TIMEOUT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_SECONDS);
}

/* A refusal before RCPT did not concern the mail, so it is forgotten. */
static int note_sent(CURL *curl, curl_infotype type, char *p, size_t n, void *context)
{
    struct dialogue *dialogue = context;
    (void)curl;
    if (type == CURLINFO_HEADER_OUT && n >= 4 && memcmp(p, "RCPT", 4) == 0) {
        dialogue->has_addressed = true;
        dialogue->refusal_n = 0;
    }
    if (type == CURLINFO_DATA_OUT)
        dialogue->has_sent_text = true;
    return 0;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct dialogue *dialogue = context;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    (void)purpose;
    for (int i = 0; fd >= 0 && i < SOCKETS_MOST; i++) {
        if (dialogue->sockets[i] < 0) {
            dialogue->sockets[i] = fd;
            break;
        }
    }
    return fd;
}

static int close_socket(void *context, curl_socket_t fd)
{
    struct dialogue *dialogue = context;
    for (int i = 0; i < SOCKETS_MOST; i++)
        if (dialogue->sockets[i] == fd)
            dialogue->sockets[i] = -1;
    return close(fd);
}

/* Otherwise libcurl would send QUIT, and wait two minutes for a server that does not answer. */
static void hang_up(const struct dialogue *dialogue)
{
    for (int i = 0; i < SOCKETS_MOST; i++)
        if (dialogue->sockets[i] >= 0)
            shutdown(dialogue->sockets[i], SHUT_RDWR);
}

static size_t take_refusal(char *p, size_t size, size_t n, void *context)
{
    struct dialogue *dialogue = context;
    struct str line = {p, size * n};
    if (!line.n || (line.p[0] != '4' && line.p[0] != '5'))
        return size * n;
    while (line.n && char_in(line.p[line.n - 1], "\r\n "))
        line.n--;
    dialogue->refusal_n = line.n < sizeof dialogue->refusal ? line.n : sizeof dialogue->refusal;
    for (size_t i = 0; i < dialogue->refusal_n; i++)
        dialogue->refusal[i] = line.p[i] < ' ' || line.p[i] > '~' ? '?' : line.p[i];
    return size * n;
}

static void note_failed(struct mail *mail, const char *error, const struct dialogue *dialogue)
{
    mail->was_addressed = dialogue->has_addressed;
    mail->is_refused =
        dialogue->has_addressed && dialogue->refusal_n && dialogue->refusal[0] == '5';
    if (dialogue->refusal_n)
        snprintf(mail->why, sizeof mail->why, "%.100s (the mail server said: %.*s)", error,
                 (int)dialogue->refusal_n, dialogue->refusal);
    else
        snprintf(mail->why, sizeof mail->why, "%s", error);
}

/* Lines end with CRLF in a mail; a lone LF would be encoded as a byte of its line (RFC 2045,
 * section 6.7). */
static void print_lines(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n' && (i == 0 || text.p[i - 1] != '\r'))
            buf_add_char(to, '\r');
        buf_add_char(to, text.p[i]);
    }
}

static curl_mime *make_body(CURL *curl, const struct mail *mail)
{
    curl_mime *mime = curl_mime_init(curl);
    curl_mimepart *part = mime ? curl_mime_addpart(mime) : NULL;
    ASSERT(part);
    struct buf lines = {0};
    print_lines(&lines, mail->text);
    curl_mime_data(part, lines.p, lines.n); /* copies */
    buf_free(&lines);
    curl_mime_type(part, "text/plain; charset=utf-8");
    curl_mime_encoder(part, "quoted-printable");
    return mime;
}

static void set_dialogue(CURL *curl, struct dialogue *dialogue)
{
    curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L); /* so that libcurl reports what is sent */
    curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, note_sent);
    curl_easy_setopt(curl, CURLOPT_DEBUGDATA, dialogue);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_refusal);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, dialogue);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progressed);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, dialogue);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, dialogue);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETDATA, dialogue);
    memset(dialogue->sockets, -1, sizeof dialogue->sockets);
}

static void transfer(struct mailer *m, const struct mail_server *server, struct mail *mail)
{
    CURL *curl = curl_easy_init();
    ASSERT(curl);
    char error[CURL_ERROR_SIZE] = "";
    struct dialogue dialogue = {.mailer = m};
    struct curl_slist *to = curl_slist_append(NULL, mail->to);
    struct curl_slist *headers = make_headers(server, mail);
    curl_mime *body = make_body(curl, mail);
    set_server(curl, server);
    set_dialogue(curl, &dialogue);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(curl, CURLOPT_MAIL_FROM, server->options.from);
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, body);
    CURLcode code = curl_easy_perform(curl);
    mail->good = code == CURLE_OK;
    if (!mail->good)
        note_failed(mail, error[0] ? error : curl_easy_strerror(code), &dialogue);
    if (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_OPERATION_TIMEDOUT)
        hang_up(&dialogue);
    curl_easy_cleanup(curl);
    curl_mime_free(body);
    curl_slist_free_all(headers);
    curl_slist_free_all(to);
}

static void run(struct task *task)
{
    struct mail *mail = CONTAINER_OF(task, struct mail, task);
    struct mailer *m = mail->mailer;
    mail->good = mail->is_refused = mail->was_addressed = false;
    if (atomic_load(&m->stopped_us)) {
        snprintf(mail->why, sizeof mail->why, "the server is stopping");
    } else {
        struct mail_server *server = take_server(m);
        transfer(m, server, mail);
        release_server(m, server);
    }
    executor_post(mail->reply_to, &mail->done);
}

/* --- life --------------------------------------------------------------------------------------
 */

void mailer_change(struct mailer *m, const struct mailer_options *options)
{
    struct mail_server *next = server_new(options);
    pthread_mutex_lock(&m->lock);
    struct mail_server *before = m->server;
    m->server = next;
    pthread_mutex_unlock(&m->lock);
    release_server(m, before);
}

struct mailer *mailer_new(const struct mailer_options *options)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    struct mailer *m = xcalloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->server = server_new(options);
    m->worker = worker_start_several("mailer", MAILER_SENDING_MOST);
    return m;
}

void mailer_send(struct mailer *m, struct mail *mail)
{
    mail->mailer = m;
    mail->task = (struct task){.run = run, .owner = mail->owner};
    executor_post(worker_executor(m->worker), &mail->task);
}

void mailer_abort(struct mailer *m)
{
    long long not_yet = 0;
    (void)atomic_compare_exchange_strong(&m->stopped_us, &not_yet, timing_now_us());
}

void mailer_free(struct mailer *m)
{
    if (!m)
        return;
    worker_stop(m->worker);
    release_server(m, m->server);
    pthread_mutex_destroy(&m->lock);
    free(m);
}
