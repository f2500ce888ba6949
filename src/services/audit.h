/* The audit log: one entry for each change, in the same commit as the change (docs/people-api.md).
 *
 * An entry is an object of the store, printed as GET /api/v1/audit shows it. Its key begins with
 * whose it is, then its time: "a/" for the installation, where every entry stands, and "pXXXXXXXX/"
 * for the account it concerns, where it stands once more, without who of the operators it was: each
 * list is one range, read backwards.
 */
#pragma once

#include "accounts/directory.h"
#include "base/env.h"
#include "store/store.h"

struct idempotency_key;

#define AUDIT_ID_BYTES 20
#define AUDIT_KEY_BYTES 40
#define AUDIT_PARTS 2 /* at most, of one note */

/* Who did it; all texts are the asker's. */
struct actor {
    struct str user_id, email; /* of a person; absent: a key, or nobody that is known */
    struct str key_id;
    bool is_operator, acting; /* acting: an operator as that partner */
    const struct address *peer;
    struct str request_id;
    const struct idempotency_key *idempotency_key; /* NULL: none */
};

struct audit_note {
    const char *action;  /* "app.changed"; NULL: there is nothing to write down */
    uint32_t account_no; /* whom it concerns; 0: the installation alone */
    const char *object_kind;
    struct str object_id;
    struct buf before, after; /* JSON without secrets; empty: null */
};

/* Gives entries their ids: those of one process ascend. One thread's. */
struct audit {
    struct env *env;
    struct directory *directory;
    int64_t now_ms; /* of the entry being written */
    int64_t last_ms;
    uint32_t count; /* within that millisecond */
};

/* Fills in the objects that record the note, and returns their number. by NULL: postbackd itself
 * made the change. Their texts are in the arena. */
size_t audit_parts(struct audit *audit, const struct actor *by, const struct audit_note *note,
                   struct arena *arena, struct object_part ret_parts[AUDIT_PARTS]);
void audit_note_free(struct audit_note *note);

/* Writes the key from which an account's list (account_no 0: the installation's) has the entries of
 * that time and later. */
void audit_key(char ret_key[AUDIT_KEY_BYTES], uint32_t account_no, int64_t at_ms);
/* key is an upper bound that audit_key wrote: lowers it to the entry `id`, if that is below it. */
void audit_key_after(char key[AUDIT_KEY_BYTES], struct str id);
/* The last part of an entry's key: its AuditId, a time and random digits, all hexadecimal. */
struct str audit_id_of_key(struct str key);
bool audit_is_id(struct str text);
