/* Joins several messages to one address into one mail. The first is sent at once; further ones
 * within the spacing, or beyond MAILS_MOST in an hour, wait and are then one mail that lists them.
 * Each message keeps a notice of its own in the store; sending the mail settles all of them. After
 * a crash the mail is made again, with the same Message-ID if it has the same notices. A person who
 * has chosen one mail a day gets it at that time (people_mail.c), even if it has only one
 * message. */
#include "operations/recipient.h"
#include "operations/running.h"

#include <inttypes.h>
#include <stdio.h>

#define MAILS_MOST 20
#define DIGEST_MOST 100

/* Notices of one mail have the same sent_ms. Adds that time to `mails` if it is new. */
static int add_mail(int64_t mails[MAILS_MOST], int count, int64_t sent_ms)
{
    for (int i = 0; i < count; i++)
        if (mails[i] == sent_ms)
            return count;
    mails[count] = sent_ms;
    return count + 1;
}

/* Repetitions do not wait, and do not count. A mail does not count either if later messages have
 * replaced all of its messages. */
int64_t digest_wait_ms(const struct operations *o, const struct notice *as)
{
    int64_t now = loop_mono_ms(o->loop), last = INT64_MIN / 2, first = now, mails[MAILS_MOST];
    int count = 0;
    if (!notice_is_mail(as) || as->tries > 0)
        return 0;
    for (const struct notice *n = o->notices; n; n = n->next) {
        if (!recipient_is_same(n, as) || n->last_mono_ms <= now - MAILS_MS)
            continue;
        last = n->last_mono_ms > last ? n->last_mono_ms : last;
        first = n->last_mono_ms < first ? n->last_mono_ms : first;
        if (count < MAILS_MOST)
            count = add_mail(mails, count, n->sent_ms);
    }
    int64_t until = last + o->options.spacing_ms;
    if (count == MAILS_MOST && first + MAILS_MS > until)
        until = first + MAILS_MS;
    return until > now ? until - now : 0;
}

bool digest_is_gathering(const struct operations *o, const struct notice *as)
{
    int64_t now = loop_mono_ms(o->loop);
    if (as->channel != OPERATIONS_TO_PERSON || as->tries > 0)
        return false;
    for (const struct notice *n = o->notices; n; n = n->next) {
        bool is_written = n->step == NOTICE_ASKING || n->step == NOTICE_SAVING ||
                          (n->step == NOTICE_OWED && n->due_mono_ms <= now);
        if (n != as && is_written && recipient_is_same(n, as))
            return true;
    }
    return false;
}

/* False for an outdated message that was never sent: it is withdrawn. */
static bool can_go_with(const struct notice *n, const struct notice *as, int64_t now)
{
    return n != as && n->step == NOTICE_READY && !n->saving && recipient_is_same(n, as) &&
           notice_is_ours(n) && (n->tries == 0 || n->due_mono_ms <= now) &&
           (n->may_have_arrived || n->is == n->saying);
}

static void print_digest(struct notice *n, int count, bool is_daily, struct str public_url)
{
    struct buf end = {0};
    uint64_t ids = 0; /* independent of the order */
    struct str first = buf_str(&n->body);
    first = str_cut(&first, '\n');
    if (public_url.p)
        buf_printf(&end, "\nDashboard: %.*s\n", STR_ARG(public_url));
    buf_clear(&n->digest);
    if (is_daily)
        buf_printf(&n->digest, "Daily digest: %d %s\n", count, count == 1 ? "message" : "messages");
    else
        buf_printf(&n->digest, "%d messages: %.*s, and others\n", count, STR_ARG(first));
    for (const struct notice *each = n; each; each = each->with) {
        struct str body = buf_str(&each->body);
        if (end.n && body.n > end.n && memcmp(body.p + body.n - end.n, end.p, end.n) == 0)
            body.n -= end.n; /* printed once */
        buf_printf(&n->digest, "%.*s\n\n", STR_ARG(body));
        ids += hash_fast(each->id, strlen(each->id));
    }
    buf_add_str(&n->digest, buf_str(&end));
    snprintf(n->digest_id, sizeof n->digest_id, "ops_%016" PRIx64, ids);
    buf_free(&end);
}

void digest_gather(struct operations *o, struct notice *n)
{
    struct notice *last = n;
    bool is_daily =
        n->channel == OPERATIONS_TO_PERSON && recipient_wants(&o->options, n) == MAIL_DAILY;
    int count = 1;
    buf_clear(&n->digest);
    for (struct notice *each = o->notices; each && count < DIGEST_MOST; each = each->next) {
        if (!can_go_with(each, n, loop_mono_ms(o->loop)))
            continue;
        last->with = each;
        last = each;
        count++;
    }
    if (n->with || is_daily)
        print_digest(n, count, is_daily, o->options.public_url);
}
