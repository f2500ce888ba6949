/* SIGHUP: reads file, environment and command line again, and logs for each changed setting whether
 * it is taken (OPTION_IS_RELOADED, cli/option_table.c) or needs a restart. It logs only names,
 * because a value may hold a password. */
#include "cli/serve_options.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

static void say_failed(struct str why)
{
    log_error("reload_failed", LOG_STR("reason", why), LOG_C("kept", "all settings"));
}

static bool is_of_mail(enum option_id id)
{
    return id == OPTION_SMTP_URL || id == OPTION_SMTP_USER || id == OPTION_SMTP_PASSWORD ||
           id == OPTION_MAIL_FROM;
}

/* Only a start turns e-mail on or off. */
static bool is_taken(const struct serve_settings *s, const struct settings *next, enum option_id id)
{
    bool has_mail = settings_text(s->first, OPTION_SMTP_URL).p != NULL,
         wants_mail = settings_text(next, OPTION_SMTP_URL).p != NULL;
    return option_table[id].flags & OPTION_IS_RELOADED &&
           (!is_of_mail(id) || (has_mail && wants_mail));
}

/* Settings that need a restart are compared with those at the server's start. */
static void say_changes(const struct serve_settings *s, const struct settings *next)
{
    int64_t taken = 0, left = 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        enum option_id id = (enum option_id)i;
        bool is_new = is_taken(s, next, id);
        if (settings_same(is_new && s->now ? s->now : s->first, next, id))
            continue;
        *(is_new ? &taken : &left) += 1;
        if (is_new)
            log_info("setting_reloaded", LOG_C("setting", option_table[id].name));
        else
            log_warning("setting_needs_restart", LOG_C("setting", option_table[id].name));
    }
    log_info("reloaded", LOG_INT("settings_reloaded", taken), LOG_INT("need_restart", left));
}

static void drop(struct settings *s)
{
    settings_free(s);
    free(s);
}

void serve_reload(void *context, struct daemon *d)
{
    struct serve_settings *s = context;
    struct settings *next = xcalloc(1, sizeof *next);
    struct daemon_options o;
    struct str why;
    char *reason = NULL;
    if (!settings_reread(s->first, next, &why) || !serve_options_read(next, &o, &why)) {
        say_failed(why);
        drop(next);
        return;
    }
    if (!daemon_reload(d, &o, &reason)) {
        say_failed(str_of(reason));
        free(reason);
        drop(next);
        return;
    }
    log_set(o.log_level, o.log_json);
    say_changes(s, next);
    serve_settings_free(s);
    s->now = next;
}

void serve_settings_free(struct serve_settings *s)
{
    if (s->now)
        drop(s->now);
}
