/* The session of nghttp2 behind one connection: http2.c's, shared with http2_answer.c. */
#pragma once

#include "http/conn.h"

#include <nghttp2/nghttp2.h>

#define HTTP2_MAGIC 0x48325356u
#define HTTP2_PIECE_BYTES 4096 /* smaller pieces of an answer may wait: http2_answer.c */

struct http2 {
    uint32_t magic;
    nghttp2_session *session;
    struct conn *conn;
    struct list streams; /* in memory: some are closed and wait for their handlers */
    size_t open;
    size_t unsent_bytes; /* of their answers */
    int64_t credit;
    int64_t unknown_bytes;      /* of frames that nghttp2 ignores */
    int64_t window_updates_due; /* caused by our DATA frames: they cost no credit */
    int waits_in_vain;
    size_t piece_least_bytes; /* if the windows allow as many, they do not wait: http2_answer.c */
    bool leaving, flooded;
    bool held_up;             /* see http2_is_held_up */
    struct timer flush_timer; /* also for answers that wait for more window */
    /* Of the header block being received. */
    size_t list_bytes;
    struct head_refusal refusal;
    struct buf cookie; /* its parts, joined (RFC 9113, section 8.2.3) */
};

/* NULL: there is none, or either side has ended it. */
struct conn *http2_stream_of(struct http2 *h, int32_t id);
/* Has queued frames written: by the caller of nghttp2, or in the next tick. */
void http2_wake(struct http2 *h);
void http2_earn(struct http2 *h, int64_t credit);
void http2_count_unsent(struct http2 *h, struct conn *s, size_t bytes);

/* http/http2_answer.c: answers that wait for more window check it again. */
void http2_look_for_window(struct http2 *h);
/* http/http2_answer.c: nghttp2's callback for written frames. */
int http2_on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *context);
