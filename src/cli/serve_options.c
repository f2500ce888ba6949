/* Turns settings into daemon options, and checks each with one clear line; also the default number
 * of loops. */
#include "cli/serve_options.h"

#include "cli/store_name.h"
#include "domain/email.h"

#include "accounts/vault.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/plain_text.h"
#include "daemon/supervisor.h"
#include "net/socket.h"

#include <errno.h>
#include <sched.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(OPERATOR_KEY_BYTES_MOST == LIMIT_HEADER_BYTES / 2, "as option.h says");

static bool fail_value(struct settings *s, struct str *ret_why, enum option_id id, struct str value,
                       const char *why)
{
    struct buf text = {0};
    settings_print_place(&text, s, id, value);
    url_print_text_masked(&text, value); /* a store's URL may carry a password */
    buf_printf(&text, ": %s", why);
    *ret_why = arena_take(&s->arena, &text);
    return false;
}

static bool fail(struct settings *s, struct str *ret_why, enum option_id id, const char *why)
{
    return fail_value(s, ret_why, id, settings_text(s, id), why);
}

/* Does not print the value, which may contain a secret. */
static bool fail_unquoted(struct settings *s, struct str *ret_why, enum option_id id,
                          struct str value, const char *fmt, ...) PRINTF_LIKE(5, 6);
static bool fail_unquoted(struct settings *s, struct str *ret_why, enum option_id id,
                          struct str value, const char *fmt, ...)
{
    struct buf text = {0};
    va_list ap;
    settings_print_place(&text, s, id, value);
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    *ret_why = arena_take(&s->arena, &text);
    return false;
}

static const char *text_or_null(struct settings *s, enum option_id id)
{
    return settings_text(s, id).p; /* the arena's copies end with a NUL */
}

static bool read_cidrs(struct settings *s, enum option_id id, const struct cidr **ret,
                       size_t *ret_count, struct str *ret_why)
{
    size_t count = s->of[id].count;
    struct cidr *list = arena_zalloc(&s->arena, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++)
        if (!cidr_parse(s->of[id].values[i], &list[i]))
            return fail_value(s, ret_why, id, s->of[id].values[i],
                              "not a network such as 10.0.0.0/8 or fd00::/8.");
    *ret = list;
    *ret_count = count;
    return true;
}

static bool read_sources(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    size_t count = s->of[OPTION_SOURCE_ADDRESS].count;
    struct address *list = arena_zalloc(&s->arena, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        struct str value = s->of[OPTION_SOURCE_ADDRESS].values[i];
        if (!address_parse(value, &list[i]))
            return fail_value(s, ret_why, OPTION_SOURCE_ADDRESS, value, "not an IP address.");
        if (socket_source_error(&list[i]))
            return fail_value(s, ret_why, OPTION_SOURCE_ADDRESS, value,
                              "not an address of this machine (`ip address` lists them).");
    }
    o->sources = list;
    o->source_count = count;
    return true;
}

static bool read_numbers(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    int64_t loops, reads, spacing, reserve, bodies, attempts, panelists;
    if (!settings_int(s, OPTION_LOOPS, 0, 64, &loops, ret_why) ||
        !settings_int(s, OPTION_READS_PER_MINUTE, 1, 1000000, &reads, ret_why) ||
        !settings_int(s, OPTION_OPERATIONS_SPACING, 1, 86400, &spacing, ret_why) ||
        !settings_int(s, OPTION_DISK_RESERVE, 0, 1 << 30, &reserve, ret_why) ||
        !settings_int(s, OPTION_WAITING_MOST, 1, INT64_C(1) << 40, &o->waiting_most, ret_why) ||
        !settings_int(s, OPTION_RETAIN_BODIES_DAYS, 1, 36500, &bodies, ret_why) ||
        !settings_int(s, OPTION_RETAIN_ATTEMPTS_DAYS, 1, 36500, &attempts, ret_why) ||
        !settings_int(s, OPTION_RETAIN_PANELISTS_DAYS, 91, 36500, &panelists, ret_why))
        return false;
    if (!loops) {
        cpu_set_t set;
        int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
        loops = cpus / 2 < 1 ? 1 : cpus / 2 > 8 ? 8 : cpus / 2;
    }
    o->loops = (int32_t)loops;
    o->reads_per_minute = (int32_t)reads;
    o->operations_spacing_ms = spacing * 1000;
    o->disk_reserve_bytes = reserve << 20;
    o->retention = (struct store_retention){(int32_t)bodies, (int32_t)attempts, (int32_t)panelists};
    return true;
}

/* The host's name if none is given. */
static bool read_node_name(struct settings *s, const char **ret, struct str *ret_why)
{
    static char machine[NODE_NAME_BYTES + 1];
    struct str name = settings_text(s, OPTION_NODE_NAME);
    struct buf plain = {0};
    plain_text_print(&plain, name);
    bool good = !name.p || (name.n <= NODE_NAME_BYTES && str_eq(buf_str(&plain), name));
    buf_free(&plain);
    *ret = name.p;
    if (!name.p && gethostname(machine, sizeof machine - 1) == 0)
        *ret = machine;
    return good || fail_unquoted(s, ret_why, OPTION_NODE_NAME, name,
                                 "at most %d bytes, without control characters and those that "
                                 "end a line or set a direction (such as U+2028, U+200E).",
                                 NODE_NAME_BYTES);
}

static bool read_replica(struct settings *s, struct daemon_options *o, const char *store_uri,
                         struct str *ret_why)
{
    struct store_name name;
    if (!settings_int(s, OPTION_READ_REPLICA_MAX_LAG, 1, 60000, &o->replica_lag_most_ms, ret_why))
        return false;
    if (!settings_text(s, OPTION_READ_REPLICA).p)
        return true;
    if (store_name_read(s, OPTION_READ_REPLICA, &name, ret_why) && store_uri && name.uri) {
        o->replica_uri = name.uri;
        return true;
    }
    return fail_unquoted(s, ret_why, OPTION_READ_REPLICA, settings_text(s, OPTION_READ_REPLICA),
                         "a replica postgresql://... of a store postgresql://...");
}

bool serve_options_read_clusters(struct settings *s, struct daemon_options *o,
                                 const char *store_uri, struct str *ret_why)
{
    size_t count = s->of[OPTION_STORE_CLUSTER].count;
    const char **uris = arena_zalloc(&s->arena, (count + 1) * sizeof *uris);
    if (count > CLUSTERS_MOST - 1)
        return fail_unquoted(s, ret_why, OPTION_STORE_CLUSTER,
                             s->of[OPTION_STORE_CLUSTER].values[CLUSTERS_MOST - 1],
                             "15 at most, beside --store.");
    for (size_t i = 0; i < count; i++) {
        struct str uri = s->of[OPTION_STORE_CLUSTER].values[i];
        bool good = str_has_prefix(uri, "postgresql://") || str_has_prefix(uri, "postgres://");
        if (!good || !store_uri)
            return fail_unquoted(s, ret_why, OPTION_STORE_CLUSTER, uri,
                                 "postgresql://..., beside a --store postgresql://...");
        uris[i] = uri.p;
    }
    o->cluster_uris = uris;
    o->cluster_count = count;
    return true;
}

static bool read_store(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    struct store_name name;
    const char *node_name;
    if (!store_name_read(s, OPTION_STORE, &name, ret_why))
        return false;
    if (!read_node_name(s, &node_name, ret_why) || !read_replica(s, o, name.uri, ret_why) ||
        !serve_options_read_clusters(s, o, name.uri, ret_why))
        return false;
    if (name.uri) {
        o->store_uri = name.uri;
        o->node_name = node_name;
        if (o->master_key.p)
            return true;
        return fail(s, ret_why, OPTION_STORE,
                    "set POSTBACKD_MASTER_KEY, too (64 hex digits: `openssl rand -hex 32`), as "
                    "there is no directory to keep a key in.");
    }
    o->store_directory = name.directory;
    struct stat st;
    bool is_there = stat(o->store_directory, &st) == 0;
    if (is_there && !S_ISDIR(st.st_mode))
        return fail(s, ret_why, OPTION_STORE, "this is not a directory.");
    if (!is_there && errno == ENOENT && lstat(o->store_directory, &st) == 0)
        return fail(s, ret_why, OPTION_STORE, "this is a link to what does not exist.");
    return true;
}

static bool read_listener(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    const char *why;
    if (!supervisor_socket(&o->inherited_fd, &why)) {
        *ret_why = str_of(why);
        return false;
    }
    if (!settings_listen(s, &o->listen, ret_why))
        return false;
    o->tls_cert_file = text_or_null(s, OPTION_TLS_CERT);
    o->tls_key_file = text_or_null(s, OPTION_TLS_KEY);
    if (!o->tls_cert_file != !o->tls_key_file)
        return fail(s, ret_why, o->tls_cert_file ? OPTION_TLS_CERT : OPTION_TLS_KEY,
                    "--tls-cert and --tls-key go together.");
    return true;
}

/* Checked before anything is opened or made, so that a mistake leaves nothing behind. */
static bool read_outside(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    struct str proxy = settings_text(s, OPTION_PROXY), dns = settings_text(s, OPTION_DNS_SERVER);
    struct url url;
    struct address address;
    struct endpoint endpoint;
    const char *why;
    o->public_url = settings_text(s, OPTION_PUBLIC_URL);
    if (o->public_url.p && !url_parse(&s->arena, o->public_url, &url, &why))
        return fail(s, ret_why, OPTION_PUBLIC_URL, why);
    if (o->public_url.p && (url.userinfo.p || memchr(url.target.p, '?', url.target.n)))
        return fail(s, ret_why, OPTION_PUBLIC_URL,
                    "has a user or a query; give it without, such as https://rewards.example.");
    if (proxy.p && (!url_parse(&s->arena, proxy, &url, &why) || url.https))
        return fail_unquoted(s, ret_why, OPTION_PROXY, proxy,
                             "not the URL of an HTTP proxy, such as http://10.0.0.1:3128.");
    if (dns.p && !address_parse(dns, &address) &&
        (!endpoint_parse(dns, &endpoint) || !endpoint.port))
        return fail(s, ret_why, OPTION_DNS_SERVER, "not an address such as 9.9.9.9 or [::1]:53.");
    struct str http2 = settings_text(s, OPTION_HTTP2);
    o->http2 = str_eq(http2, STR("auto"));
    if (!o->http2 && !str_eq(http2, STR("off")))
        return fail(s, ret_why, OPTION_HTTP2, "auto or off.");
    o->operations_url = settings_text(s, OPTION_OPERATIONS_URL);
    if (o->operations_url.p && !url_parse(&s->arena, o->operations_url, &url, &why))
        return fail_unquoted(s, ret_why, OPTION_OPERATIONS_URL, o->operations_url,
                             "not a URL such as https://example.com/path.");
    o->proxy = proxy.p;
    o->dns_server = dns.p;
    o->ca_file = text_or_null(s, OPTION_CA_FILE);
    return true;
}

/* "07:00": the minute of the day. */
static bool read_daily_minute(struct settings *s, int32_t *ret, struct str *ret_why)
{
    struct str text = settings_text(s, OPTION_DAILY_MAIL_AT);
    int32_t digits[4];
    bool good = text.n == 5 && text.p[2] == ':';
    for (size_t i = 0; i < 4 && good; i++) {
        char c = text.p[i < 2 ? i : i + 1];
        good = char_is_digit(c);
        digits[i] = c - '0';
    }
    int32_t hour = good ? digits[0] * 10 + digits[1] : 24;
    if (hour >= 24 || digits[2] >= 6)
        return fail(s, ret_why, OPTION_DAILY_MAIL_AT, "not a time such as 07:00.");
    *ret = hour * 60 + digits[2] * 10 + digits[3];
    return true;
}

static bool read_mail(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    static const enum option_id with_url[] = {OPTION_SMTP_USER, OPTION_SMTP_PASSWORD,
                                              OPTION_MAIL_FROM, OPTION_OPERATIONS_EMAIL};
    struct str from = settings_text(s, OPTION_MAIL_FROM);
    const char *why;
    o->operations_email = settings_text(s, OPTION_OPERATIONS_EMAIL);
    o->mail = (struct mailer_options){
        .url = text_or_null(s, OPTION_SMTP_URL),
        .user = text_or_null(s, OPTION_SMTP_USER),
        .password = text_or_null(s, OPTION_SMTP_PASSWORD),
        .from = text_or_null(s, OPTION_MAIL_FROM),
        .ca_file = text_or_null(s, OPTION_CA_FILE),
    };
    for (size_t i = 0; i < ARRAY_LEN(with_url) && !o->mail.url; i++) {
        if (!settings_text(s, with_url[i]).p)
            continue;
        return fail_unquoted(s, ret_why, with_url[i], settings_text(s, with_url[i]),
                             "--smtp-url is needed, too.");
    }
    if (!read_daily_minute(s, &o->daily_mail_minute, ret_why))
        return false;
    if (o->operations_email.p && email_fault(o->operations_email))
        return fail(s, ret_why, OPTION_OPERATIONS_EMAIL, "not an address such as name@domain.");
    if (from.p && email_fault(from))
        return fail(s, ret_why, OPTION_MAIL_FROM, "not an address such as name@domain.");
    if (o->mail.url && !mailer_url_check(o->mail.url, &why))
        return fail(s, ret_why, OPTION_SMTP_URL, why);
    if (o->mail.url && !from.p)
        return fail(s, ret_why, OPTION_SMTP_URL, "--mail-from is needed, too.");
    return true;
}

/* The text after `kafka:`; NULL: the option is not given. */
static bool read_topic(struct settings *s, enum option_id id, const char *form, const char **ret,
                       struct str *ret_why)
{
    struct str text = settings_text(s, id);
    if (text.p && !str_has_prefix(text, "kafka:"))
        return fail(s, ret_why, id, form);
    *ret = text.p ? text.p + strlen("kafka:") : NULL;
    return true;
}

static bool read_kafka(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    char *why = NULL;
    o->bus.config_file = text_or_null(s, OPTION_KAFKA_CONFIG);
    if (!read_topic(s, OPTION_INTAKE, "not kafka:TOPIC[,TOPIC].", &o->bus.topics, ret_why) ||
        !read_topic(s, OPTION_REWARDS_FEED, "not kafka:TOPIC.", &o->bus.rewards_topic, ret_why))
        return false;
    bool is_used = o->bus.topics || o->bus.rewards_topic;
    if (!is_used && o->bus.config_file)
        return fail(s, ret_why, OPTION_KAFKA_CONFIG, "--intake or --rewards-feed is needed, too.");
    if (!is_used || bus_settings_check(&o->bus, &why))
        return true;
    *ret_why = arena_str(&s->arena, str_of(why));
    free(why);
    return false;
}

static bool check_master_key(struct settings *s, enum option_id id, struct str *ret_why)
{
    struct str text = settings_text(s, id);
    uint8_t key[MASTER_KEY_BYTES];
    const char *why;
    if (!text.p)
        return true;
    bool good = master_key_parse(text, key, &why);
    sodium_memzero(key, sizeof key);
    return good || fail_unquoted(s, ret_why, id, text, "%s", why);
}

static bool fits_header(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if ((uint8_t)key.p[i] <= ' ' || (uint8_t)key.p[i] >= 0x7f)
            return false;
    return key.n >= OPERATOR_KEY_BYTES_LEAST && key.n <= OPERATOR_KEY_BYTES_MOST;
}

static bool read_keys(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    o->operator_key = settings_text(s, OPTION_OPERATOR_KEY);
    if (o->operator_key.p && !fits_header(o->operator_key))
        return fail_unquoted(s, ret_why, OPTION_OPERATOR_KEY, o->operator_key,
                             "%d to %d printable ASCII characters without spaces; make one with "
                             "`openssl rand -hex 32`.",
                             OPERATOR_KEY_BYTES_LEAST, OPERATOR_KEY_BYTES_MOST);
    o->master_key = settings_text(s, OPTION_MASTER_KEY);
    o->second_master_key = settings_text(s, OPTION_SECOND_MASTER_KEY);
    return check_master_key(s, OPTION_MASTER_KEY, ret_why) &&
           check_master_key(s, OPTION_SECOND_MASTER_KEY, ret_why);
}

static bool read_schedule(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    const char *why;
    if (!schedule_parse(settings_text(s, OPTION_RETRY_SCHEDULE), &o->schedule, &why))
        return fail(s, ret_why, OPTION_RETRY_SCHEDULE, why);
    return true;
}

static bool read_log(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    struct str format = settings_text(s, OPTION_LOG_FORMAT),
               level = settings_text(s, OPTION_LOG_LEVEL);
    if (!str_is(format, "text") && !str_is(format, "json"))
        return fail(s, ret_why, OPTION_LOG_FORMAT, "text or json.");
    size_t found = str_index_of(level, levels, ARRAY_LEN(levels));
    if (found == ARRAY_LEN(levels))
        return fail(s, ret_why, OPTION_LOG_LEVEL, "debug, info, warning or error.");
    o->log_level = (enum log_level)found;
    o->log_json = str_is(format, "json");
    return true;
}

static void read_access_log(struct settings *s, struct daemon_options *o)
{
    o->access_log = text_or_null(s, OPTION_ACCESS_LOG);
    o->sign_in_file = text_or_null(s, OPTION_SIGN_IN_FILE);
    o->access_log_probes = str_is(settings_text(s, OPTION_ACCESS_LOG_PROBES), "true");
}

bool serve_options_read(struct settings *s, struct daemon_options *o, struct str *ret_why)
{
    *o = (struct daemon_options){.version = POSTBACKD_VERSION};
    read_access_log(s, o);
    return read_log(s, o, ret_why) && read_listener(s, o, ret_why) && read_numbers(s, o, ret_why) &&
           read_cidrs(s, OPTION_ALLOW_DESTINATION, &o->rules.allowed, &o->rules.allowed_count,
                      ret_why) &&
           read_cidrs(s, OPTION_DENY_DESTINATION, &o->rules.denied, &o->rules.denied_count,
                      ret_why) &&
           read_cidrs(s, OPTION_TRUSTED_PROXY, &o->trusted_proxies, &o->trusted_proxy_count,
                      ret_why) &&
           read_sources(s, o, ret_why) && read_schedule(s, o, ret_why) &&
           read_keys(s, o, ret_why) && read_outside(s, o, ret_why) && read_mail(s, o, ret_why) &&
           read_kafka(s, o, ret_why) && read_store(s, o, ret_why);
}
