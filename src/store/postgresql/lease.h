/* Who may write: one daemon at a time holds the database's lease, and each holder has a number
 * greater than the one before. Every transaction that writes looks at that number under a lock that
 * it holds until it ends, and taking the lease over waits for those locks: so a daemon that was
 * stopped for longer than its lease finds another number there, and can write nothing. */
#pragma once

#include "store/postgresql/connection.h"

#define LEASE_MS 10000
#define LEASE_RENEW_MS 2000

struct lease {
    char holder[160]; /* machine, boot, process and when it started */
    int64_t fence;
};

/* Takes the lease, at once where nobody holds it or its holder is a process of this machine that is
 * gone, else after it has run out. False: somebody holds it; *ret_why is a sentence (malloc'ed). */
MUST_CHECK bool lease_take(struct pg *pg, struct lease *lease, char **ret_why);
/* A trip of its own. *ret_held false: another has taken it. */
MUST_CHECK enum pg_fate lease_renew(struct pg *pg, const struct lease *lease, bool *ret_held);
void lease_give_back(struct pg *pg, const struct lease *lease);
/* In a transaction that writes: puts in the statement whose one row is the fence in force. */
int lease_query(struct pg *pg);
