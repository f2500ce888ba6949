/* Parses a receiver's answer and its Retry-After, which domain/schedule.c bounds. */
#include "send/receiver_answer.h"

#include "domain/clock.h"

/* Longer than any schedule, and far from overflow in milliseconds. */
#define RETRY_AFTER_MAX_S INT64_C(1000000000000)
#define STATUS_REFUSED "its status is not three digits from 100 to 599"

static struct answer *answer_of(llhttp_t *parser)
{
    return parser->data;
}

static int refuse(llhttp_t *parser, const char *why)
{
    answer_of(parser)->why = why;
    return -1;
}

static bool is_interim(const llhttp_t *parser)
{
    return parser->status_code / 100 == 1;
}

/* The callbacks also get the trailers of a chunked body, which are dropped. */
static int on_header_bytes(llhttp_t *parser, const char *at, size_t n)
{
    struct answer *answer = answer_of(parser);
    if (answer->headers && !answer->headers_complete)
        buf_add(answer->headers, at, n);
    return 0;
}

static int on_name_complete(llhttp_t *parser)
{
    return on_header_bytes(parser, ": ", 2);
}

static int on_value_complete(llhttp_t *parser)
{
    return on_header_bytes(parser, "\n", 1);
}

static int on_headers_complete(llhttp_t *parser)
{
    struct answer *answer = answer_of(parser);
    if (parser->http_major != 1)
        return refuse(parser, "its version is not HTTP/1.1");
    if (parser->status_code < 100 || parser->status_code > 599 || answer->status_digits != 3)
        return refuse(parser, STATUS_REFUSED);
    if (parser->status_code == 101)
        return refuse(parser, "it switches to another protocol (101), which was not asked for");
    if (is_interim(parser)) {
        if (++answer->interim_count > LIMIT_INTERIM_ANSWERS)
            return refuse(parser, "interim answers (1xx) follow each other without end");
        if (answer->headers)
            buf_clear(answer->headers);
        return 1; /* no body */
    }
    answer->status = parser->status_code;
    answer->headers_complete = true;
    return answer->status == 204 || answer->status == 304;
}

static int on_body(llhttp_t *parser, const char *at, size_t n)
{
    struct answer *answer = answer_of(parser);
    if (answer->body) {
        size_t room = LIMIT_ATTEMPT_BODY_KEPT_BYTES - answer->body->n;
        buf_add(answer->body, at, n < room ? n : room);
        answer->body_is_cut |= n > room;
    }
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct answer *answer = answer_of(parser);
    answer->keep_alive = answer->headers_complete && llhttp_should_keep_alive(parser) != 0;
    return HPE_PAUSED; /* interim: the final one follows */
}

static const llhttp_settings_t answer_settings = {
    .on_header_field = on_header_bytes,
    .on_header_field_complete = on_name_complete,
    .on_header_value = on_header_bytes,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

#define HEADERS_BYTES_LIKELY 256 /* reserved at once */

void answer_begin(struct answer *answer, struct buf *ret_headers, struct buf *ret_body)
{
    buf_clear(ret_headers);
    buf_clear(ret_body);
    buf_reserve(ret_headers, HEADERS_BYTES_LIKELY);
    *answer = (struct answer){.headers = ret_headers, .body = ret_body};
    llhttp_init(&answer->parser, HTTP_RESPONSE, &answer_settings);
    answer->parser.data = answer;
}

static void note_first(struct answer *answer, const char *p, size_t n)
{
    size_t room = sizeof answer->first - answer->first_bytes;
    size_t take = n < room ? n : room;
    memcpy(answer->first + answer->first_bytes, p, take);
    answer->first_bytes = (uint8_t)(answer->first_bytes + take);
}

/* A status has three digits (RFC 9112, section 4). llhttp 8 takes a 0200 as 200, too. */
static void count_digits(struct answer *answer, const char *p, size_t n)
{
    for (size_t i = 0; i < n && !answer->status_over; i++) {
        bool digit = char_is_digit(p[i]);
        answer->status_over = answer->in_status && !digit;
        answer->status_digits += answer->in_status && digit;
        answer->in_status |= p[i] == ' ';
    }
}

/* An interim answer has ended: the final one follows. */
static void begin_next(struct answer *answer)
{
    answer->in_status = answer->status_over = false;
    answer->status_digits = 0;
    llhttp_resume(&answer->parser);
}

/* Headers are fed only up to their bound, so that one large read cannot exceed it. */
static enum answer_result feed_part(struct answer *answer, const char *p, size_t n,
                                    size_t *ret_used)
{
    count_digits(answer, p, n);
    llhttp_errno_t error = llhttp_execute(&answer->parser, p, n);
    if (error == HPE_PAUSED) {
        *ret_used = (size_t)(llhttp_get_error_pos(&answer->parser) - p);
        if (answer->headers_complete)
            return ANSWER_DONE;
        begin_next(answer);
        return ANSWER_MORE;
    }
    *ret_used = n;
    return error == HPE_OK ? ANSWER_MORE : ANSWER_BAD;
}

enum answer_result answer_feed(struct answer *answer, const char *p, size_t n, size_t *ret_used)
{
    size_t used = 0;
    if (answer->first_bytes < sizeof answer->first)
        note_first(answer, p, n);
    while (used < n) {
        size_t part = n - used, part_used = 0;
        bool in_head = !answer->headers_complete;
        if (in_head) {
            size_t room = LIMIT_ATTEMPT_HEADER_BYTES - answer->head_bytes;
            if (room == 0) {
                *ret_used = used;
                answer->why = HEADER_LINES_TOO_LONG;
                return ANSWER_BAD;
            }
            part = part < room ? part : room;
        }
        enum answer_result result = feed_part(answer, p + used, part, &part_used);
        used += part_used;
        if (in_head)
            answer->head_bytes += (uint32_t)part_used;
        else
            answer->body_bytes += (uint32_t)part_used;
        if (result != ANSWER_MORE) {
            *ret_used = used;
            return result;
        }
    }
    *ret_used = used;
    return ANSWER_MORE;
}

bool answer_ends_by_close(const struct answer *answer)
{
    return answer->headers_complete && llhttp_message_needs_eof(&answer->parser) != 0;
}

void answer_keep_nothing(struct answer *answer)
{
    answer->headers = NULL;
    answer->body = NULL;
}

static void print_first(struct buf *to, const struct answer *answer)
{
    buf_add_c(to, "it begins with \"");
    for (size_t i = 0; i < answer->first_bytes; i++) {
        char c = answer->first[i];
        buf_add_char(to, c >= 0x20 && c < 0x7f && c != '"' ? c : '?');
    }
    buf_add_c(to, "\"");
}

void answer_print_why(struct buf *to, const struct answer *answer)
{
    static const char http[] = "HTTP/";
    size_t n = answer->first_bytes < 5 ? answer->first_bytes : 5;
    if (memcmp(answer->first, http, n) != 0) {
        bool tls = n >= 2 && (answer->first[0] == 0x15 || answer->first[0] == 0x16) &&
                   answer->first[1] == 0x03;
        if (tls)
            buf_add_c(to, "the port speaks TLS: the URL should begin with https://");
        else
            print_first(to, answer);
        return;
    }
    const char *reason = answer->why ? answer->why : llhttp_get_error_reason(&answer->parser);
    if (llhttp_get_errno(&answer->parser) == HPE_INVALID_STATUS)
        reason = STATUS_REFUSED; /* llhttp 9 refuses some that llhttp 8 takes */
    buf_add_c(to,
              reason && reason[0] ? reason : llhttp_errno_name(llhttp_get_errno(&answer->parser)));
}

struct str header_value(struct str lines, const char *name)
{
    while (lines.p && lines.n > 0) {
        struct str line = str_cut(&lines, '\n');
        struct str value = line;
        if (str_eq_nocase(str_cut(&value, ':'), name) && value.p)
            return str_trim(value);
    }
    return STR_NONE;
}

int64_t retry_after_ms(struct str value, struct str date, int64_t now_wall_ms)
{
    int64_t seconds = 0, until_ms, date_ms, now_ms = now_wall_ms;
    size_t digits = 0;
    for (; digits < value.n && char_is_digit(value.p[digits]); digits++) {
        seconds = seconds * 10 + (value.p[digits] - '0');
        seconds = seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds;
    }
    if (digits > 0 && digits == value.n)
        return seconds * 1000;
    if (!value.p || !clock_parse_http_date(value, &until_ms))
        return -1;
    if (date.p && clock_parse_http_date(date, &date_ms))
        now_ms = date_ms;
    return until_ms > now_ms ? until_ms - now_ms : 0;
}
