/* The audit log: one entry per change, in the same commit as the change (docs/people-api.md).
 *
 * An entry is an object of the store, printed as in GET /api/v1/audit. Its key has a prefix, then
 * the time. The prefix "a/" is the installation's list, which has every entry. The prefix
 * "pXXXXXXXX/" is the list of the account concerned: a second copy, which does not name the
 * operator's person. So each list is one range, read backwards. */
#pragma once

#include "accounts/directory.h"
#include "base/env.h"
#include "store/store.h"

struct idempotency_key;

#define AUDIT_ID_BYTES 20
#define AUDIT_KEY_BYTES 40
#define AUDIT_PARTS 2 /* of one note, at most */

/* Who made the change; texts are borrowed. */
struct actor {
    struct str user_id, email; /* of a person; absent: a key, or unknown */
    struct str key_id;
    bool is_operator, acting; /* acting: an operator who acts as the partner */
    const struct address *peer;
    struct str request_id;
    const struct idempotency_key *idempotency_key; /* NULL: none */
};

struct audit_note {
    const char *action;  /* "app.changed"; NULL: no entry */
    uint32_t account_no; /* the account concerned; 0: only the installation */
    const char *object_kind;
    struct str object_id;
    struct buf before, after; /* JSON without secrets; empty: null */
};

/* Makes entries' ids, which ascend within a process. Belongs to one thread. */
struct audit {
    struct env *env;
    struct directory *directory;
    int64_t now_ms; /* of the entry being written */
    int64_t last_ms;
    uint32_t count; /* within that millisecond */
};

/* Makes the objects that record the note, and returns their number. by NULL: postbackd itself made
 * the change. Texts are in the arena. */
size_t audit_parts(struct audit *audit, const struct actor *by, const struct audit_note *note,
                   struct arena *arena, struct object_part ret_parts[AUDIT_PARTS]);
void audit_note_free(struct audit_note *note);

/* Prints the key at which an account's entries (account_no 0: the installation's) of that time
 * begin. */
void audit_key(char ret_key[AUDIT_KEY_BYTES], uint32_t account_no, int64_t at_ms);
/* key: an upper bound from audit_key; lowered to the entry `id` if that is below it. */
void audit_key_after(char key[AUDIT_KEY_BYTES], struct str id);
/* The last part of an entry's key: its AuditId, a time and random digits, all hexadecimal. */
struct str audit_id_of_key(struct str key);
bool audit_is_id(struct str text);
