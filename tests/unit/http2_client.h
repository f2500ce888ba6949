/* For tests of HTTP/2 from clients: a blocking client below HTTP/2, which sends frames as bytes, so
 * that it can stop in the middle of one. Beside http_host.h, in the test's thread. */
#pragma once

#include "http_host.h"

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define CLIENT_STREAMS 64
#define FRAME_HEAD_BYTES 9

struct client {
    int fd;
    SSL *tls;
    nghttp2_hd_inflater *inflater;
    struct buf in, out;
    bool ended;         /* by the server, or by its silence */
    int goaway;         /* its code; -1: none came */
    bool window_opened; /* each frame is paid back at once */
    int64_t data_frames, data_bytes;
    struct {
        int status, reset; /* reset: the code; -1: none came */
        bool ended;
        struct buf body;
    } streams[CLIENT_STREAMS];
};

/* ---- frames out */

void add_frame(struct client *c, int type, int flags, uint32_t stream, struct str payload);

void add_number_frame(struct client *c, int type, uint32_t stream, uint32_t number);

/* length: of the body, "" for none of that name. flags: NGHTTP2_FLAG_*. */
void add_request(struct client *c, uint32_t stream, const char *method, const char *path,
                 const char *length, int flags);

#define WHOLE (NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM)

void add_get(struct client *c, uint32_t stream, const char *path);

/* False when the server takes no more: what it said before can still be read. */
bool send_out(struct client *c);

/* ---- frames in */

/* Waits for a frame; false: the connection has ended. */
bool next_frame(struct client *c);

/* What comes within so many ms, and what is here. */
void take_what_comes(struct client *c, int ms);

/* The status of a whole answer; minus the code of RST_STREAM; -1000: the connection ended. */
int outcome(struct client *c, uint32_t stream);

/* Sends a request on a further stream and reads its answer. */
int ask(struct client *c, uint32_t stream);

/* Until the server has ended the connection: the code of GOAWAY, or -1. */
int end_of(struct client *c);

/* ---- begin and end */

/* Over TLS with HTTP/2. */
bool host_start_http2(struct http_server_options options);

void host_forget_http2(void);

/* TLS, and nothing of HTTP/2 yet. */
void connect_tls(struct client *c);

/* window: of each stream at first. */
void connect_http2(struct client *c, uint32_t window);

void disconnect(struct client *c);
