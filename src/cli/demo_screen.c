/* Prints the demo's welcome, with commands to try, and a live table. */
#include "cli/demo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void demo_print_step(const char *sentence)
{
    printf("%s\n", sentence);
    fflush(stdout);
}

#define DAYS_A_LINE 10 /* if lines cannot be redrawn */

void demo_print_progress(const struct demo_world *w, int days, int days_in_all)
{
    bool terminal = isatty(STDOUT_FILENO);
    if (!terminal && days % DAYS_A_LINE != 0)
        return;
    printf("%sMaking a month of history: day %d of %d, %ld events%s", terminal ? "\r" : "",
           days + 1, days_in_all, atomic_load(&w->events_sent),
           terminal && days + 1 < days_in_all ? "" : "\n");
    fflush(stdout);
}

/* Says which URL accepts the broken app's callbacks. */
static void print_how_to_fix(const struct demo_world *w)
{
    for (size_t i = 0; i < DEMO_APPS; i++) {
        const struct demo_app *a = &w->apps[i];
        if (a->mood == MOOD_BROKEN)
            printf("  The receiver of %s answers 500. To fix it, sign in as its owner, open Apps, "
                   "%s,\n  One URL for all three, and set there\n\n"
                   "    %s/%s/" DEMO_FIXED_PATH "\n\n",
                   a->app_id, a->name, w->receiver_url, a->app_id);
    }
}

void demo_print_welcome(const struct demo_world *w)
{
    printf("\npostbackd demo\n\n"
           "  Open %s/ and sign in:\n\n"
           "    owner@%s.example   a partner: four apps, one broken, one that comes and goes\n"
           "    operator@demo.example       the operator: all partners, and system health\n"
           "    Password of both            %s\n\n"
           "  A receiver at %s verifies both signatures of every callback.\n\n",
           w->api_url, w->apps[0].partner_id, w->password, w->receiver_url);
    print_how_to_fix(w);
    printf("In another terminal, with the keys of %s and of the operator:\n\n"
           "  URL=%s\n  KEY=%s\n  OPERATOR=%s\n\n",
           w->apps[0].partner_name, w->api_url, w->partner_key, w->operator_key);
    printf("  curl -s -H \"X-Api-Key: $KEY\" \"$URL/api/v1/reports/earnings\"\n"
           "  curl -s -H \"X-Api-Key: $KEY\" \"$URL/api/v1/reports/arpdau?format=csv\"\n"
           "  curl -s -H \"X-Api-Key: $KEY\" \"$URL/api/v1/apps/quiz-night/endpoints\"\n"
           "  curl -s -H \"X-Api-Key: $KEY\" \"$URL/api/v1/callbacks?state=pending&limit=2\"\n"
           "  curl -s -H \"X-Api-Key: $KEY\" -H 'Content-Type: application/json' \\\n"
           "       -d '{\"RewardType\":\"offer_completed\",\"PanelistId\":\"me\"}' "
           "\"$URL/api/v1/apps/farm-friends/test-callback\"\n"
           "  curl -s -H \"X-Api-Key: $OPERATOR\" \"$URL/api/v1/system\"\n"
           "  curl -s \"$URL/metrics\"\n\nStop with Ctrl-C.\n\n");
    fflush(stdout);
}

static int64_t metric(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if ((p == text || p[-1] == '\n') && p[n] == ' ')
            return strtoll(p + n, NULL, 10);
    return 0;
}

/* On a terminal a redrawn line clears the rest of the old one. */
static const char *line_end(void)
{
    return isatty(STDOUT_FILENO) ? "\033[K" : "";
}

static const char *mood_text(const struct demo_app *a, int status)
{
    if (a->mood == MOOD_BROKEN)
        return "answers 500 but at /" DEMO_FIXED_PATH;
    if (a->mood == MOOD_COMES_AND_GOES)
        return status == 200 ? "up (down for 20 s a minute)" : "DOWN, comes back";
    return "up";
}

static void print_apps(struct demo_world *w)
{
    printf("%-14s %-14s %10s %10s %8s %8s  %s%s\n", "partner", "app", "delivered", "verified",
           "wrong", "refused", "receiver", line_end());
    for (size_t i = 0; i < DEMO_APPS; i++) {
        struct demo_app *a = &w->apps[i];
        struct buf path = {0};
        int64_t delay;
        buf_printf(&path, "/%s/x", a->app_id);
        int status = demo_status_of(w, buf_str(&path), &delay);
        buf_free(&path);
        printf("%-14s %-14s %10ld %10ld %8ld %8ld  %s%s\n", a->partner_id, a->app_id,
               atomic_load(&a->received), atomic_load(&a->verified), atomic_load(&a->wrong),
               atomic_load(&a->refused), mood_text(a, status), line_end());
    }
}

void demo_print_summary(struct demo_world *w, struct client_session *c, bool redraw)
{
    static int64_t last_delivered, last_ms;
    struct buf text = {0};
    if (client_request(c, "GET", "/metrics", "", STR_NONE, &text) != 200) {
        buf_free(&text);
        return;
    }
    const char *m = buf_c(&text);
    int64_t now_ms = env_mono_ms(env_real());
    int64_t delivered = metric(m, "postbackd_callbacks_delivered_total");
    int64_t rate =
        last_ms && now_ms > last_ms ? (delivered - last_delivered) * 1000 / (now_ms - last_ms) : 0;
    if (redraw)
        printf("\033[%dA", DEMO_APPS + 3);
    print_apps(w);
    printf("%s\nevents %" PRId64 " accepted   callbacks %" PRId64 " delivered (%" PRId64
           "/s), %" PRId64 " waiting, %" PRId64 " dead   oldest waiting %" PRId64 " s%s\n",
           line_end(), metric(m, "postbackd_events_accepted_total"), delivered, rate,
           metric(m, "postbackd_callbacks_pending"), metric(m, "postbackd_callbacks_dead_total"),
           metric(m, "postbackd_oldest_pending_seconds"), line_end());
    fflush(stdout);
    last_delivered = delivered;
    last_ms = now_ms;
    buf_free(&text);
}
