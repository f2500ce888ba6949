/* One line per event and one write per line, so that lines of several threads never mix. The daemon
 * does not wait for a log reader that has stopped: lines are lost and counted. Control bytes and
 * bytes that are not UTF-8 are escaped, so that a partner's text can neither forge a line nor make
 * the log unreadable. */
#include "base/log.h"

#include "base/buf.h"
#include "base/env.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_int least_level = LOG_INFO;
static atomic_bool as_json = false;

#define PATIENCE_MS 50 /* wait for a slow reader; none after a lost line, until it reads again */
/* A ready pipe takes PIPE_BUF bytes without waiting. Texts end here, so that the names and numbers
 * of later fields have room and a cut line stays valid JSON. */
#define TEXT_END (PIPE_BUF - 1024)
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static long lost; /* lines lost since the last written one; under the mutex */

void log_set(enum log_level least, bool json)
{
    atomic_store(&least_level, (int)least);
    atomic_store(&as_json, json);
}

void log_add_escaped(struct buf *line, struct str text)
{
    for (size_t i = 0; i < text.n && line->n < TEXT_END;) {
        unsigned char c = (unsigned char)text.p[i];
        size_t n = str_utf8_sequence(text, i);
        if (n > 1)
            buf_add(line, text.p + i, n);
        else if (n == 0)
            buf_add_c(line, "\\ufffd"); /* not UTF-8 */
        else if (c == '"' || c == '\\')
            buf_printf(line, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(line, "\\u%04x", c);
        else
            buf_add_char(line, (char)c);
        i += n ? n : 1;
    }
}

static bool plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == '"' || s.p[i] == '\\' || s.p[i] == '=' ||
            s.p[i] == 0x7f)
            return false;
    return s.n > 0 && str_is_utf8(s);
}

static void add_text_fields(struct buf *b, const struct log_field *f)
{
    for (; f->name; f++) {
        buf_printf(b, " %s=", f->name);
        if (f->is_number) {
            buf_add_int(b, f->number);
        } else if (plain(f->text) && b->n + f->text.n <= TEXT_END) {
            buf_add_str(b, f->text);
        } else {
            buf_add_char(b, '"');
            log_add_escaped(b, f->text);
            buf_add_char(b, '"');
        }
    }
}

static void add_json_fields(struct buf *b, const struct log_field *f)
{
    for (; f->name; f++) {
        buf_printf(b, ",\"%s\":", f->name);
        if (f->is_number) {
            buf_add_int(b, f->number);
        } else {
            buf_add_char(b, '"');
            log_add_escaped(b, f->text);
            buf_add_char(b, '"');
        }
    }
}

static void print(struct buf *line, enum log_level level, const char *event,
                  const struct log_field *fields)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    int64_t now_ms = env_wall_ms(env_real());
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char at[32];
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &tm);
    if (atomic_load(&as_json)) {
        buf_printf(line, "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"event\":\"%s\"", at,
                   (int)(now_ms % 1000), names[level], event);
        add_json_fields(line, fields);
        buf_add_c(line, "}\n");
    } else {
        buf_printf(line, "%s.%03dZ %-7s %s", at, (int)(now_ms % 1000), names[level], event);
        add_text_fields(line, fields);
        buf_add_char(line, '\n');
    }
}

/* False: nobody reads. A closed stderr counts as read, as nothing can be done about it. */
static bool put(const struct buf *line)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&out, 1, lost ? 0 : PATIENCE_MS) != 1)
        return false;
    return write(STDERR_FILENO, line->p, line->n) >= 0 || errno != EAGAIN;
}

void log_hold(void)
{
    pthread_mutex_lock(&writing);
}

void log_release(void)
{
    pthread_mutex_unlock(&writing);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    if ((int)level < atomic_load(&least_level))
        return;
    struct buf line = {0}, before = {0};
    print(&line, level, event, fields);
    pthread_mutex_lock(&writing);
    if (lost) {
        const struct log_field count[] = {LOG_INT("count", lost), {0}};
        print(&before, LOG_WARNING, "log_lines_lost", count);
        if (put(&before))
            lost = 0;
    }
    if (lost || !put(&line))
        lost++;
    pthread_mutex_unlock(&writing);
    buf_free(&line);
    buf_free(&before);
}
