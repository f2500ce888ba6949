/* Answers that `postbackd listen` got from the receiver to which it forwards test callbacks: POST
 * and GET /api/v1/forwards. Kept in memory only, the latest ones of each account. A restart loses
 * them, and each node has its own. */
#pragma once

/* One account keeps its latest FORWARDS_OF_ACCOUNT; beyond FORWARDS_MOST of all accounts the oldest
 * of all goes. */
#define FORWARDS_OF_ACCOUNT 100
#define FORWARDS_MOST 2048
#define FORWARD_DETAIL_BYTES 200

struct forwards;
struct forwards *forwards_new(void);
void forwards_free(struct forwards *forwards);
