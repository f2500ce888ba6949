/* The servers of a URI: see hosts.h. */
#include "store/postgresql/hosts.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_MS 1000 /* a connect that fails after so long got no answer */
/* such a server is not tried again for PG_TRY_AGAIN_MS, and then reserved for the connection that
 * tries it, at most for so long */
#define TRY_MOST_MS 60000

/* --- parsing the URI -------------------------------------------------------------------------- */

/* One word of a libpq list. NULL: the word is empty. */
static char *take_word(struct str *rest)
{
    struct str word = str_cut(rest, ',');
    char *copy = word.n > 0 ? xcalloc(1, word.n + 1) : NULL;
    if (copy)
        memcpy(copy, word.p, word.n);
    return copy;
}

static int count_words(const char *list)
{
    int count = 1;
    for (const char *at = list; *at; at++)
        count += *at == ',';
    return count;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (const PQconninfoOption *o = options; o->keyword; o++)
        if (strcmp(o->keyword, keyword) == 0)
            return o->val && *o->val ? o->val : NULL;
    return NULL;
}

/* A single port is for all servers; an empty word is the default port. */
static void read_ports(struct pg_hosts *h, const char *ports, const char *usual)
{
    bool one = ports && count_words(ports) == 1;
    struct str rest = ports ? str_of(ports) : STR_NONE;
    for (int i = 0; i < h->count; i++) {
        char *word = one ? xstrdup(ports) : take_word(&rest);
        h->hosts[i].port = word ? word : xstrdup(usual);
    }
}

/* False: libpq reads the URI by itself. */
static bool read_hosts(struct pg_hosts *h, const PQconninfoOption *options, const char *usual_port)
{
    const char *names = value_of(options, "host"), *ports = value_of(options, "port");
    const char *addresses = value_of(options, "hostaddr");
    int count = names ? count_words(names) : 1;
    if (count < 2 || count > PG_HOSTS_MOST || (addresses && count_words(addresses) != count) ||
        (ports && count_words(ports) != 1 && count_words(ports) != count))
        return false;
    h->count = count;
    read_ports(h, ports, usual_port);
    struct str name = str_of(names), address = addresses ? str_of(addresses) : STR_NONE;
    bool good = true;
    for (int i = 0; i < count; i++) {
        h->hosts[i].name = take_word(&name);
        h->hosts[i].address = addresses ? take_word(&address) : NULL;
        good &= h->hosts[i].name && (!addresses || h->hosts[i].address);
    }
    return good;
}

void pg_hosts_init(struct pg_hosts *h, const char *uri)
{
    PQconninfoOption *options = PQconninfoParse(uri, NULL), *usual = PQconndefaults();
    const char *port = usual ? value_of(usual, "port") : NULL;
    *h = (struct pg_hosts){.primary = -1};
    if (options && !read_hosts(h, options, port ? port : "5432"))
        pg_hosts_free(h);
    PQconninfoFree(options);
    PQconninfoFree(usual);
}

void pg_hosts_free(struct pg_hosts *h)
{
    for (int i = 0; i < h->count; i++) {
        free(h->hosts[i].name);
        free(h->hosts[i].address);
        free(h->hosts[i].port);
    }
    h->count = 0;
}

/* --- choosing a server ------------------------------------------------------------------------ */

int pg_hosts_nth(struct pg_hosts *h, int n)
{
    int primary = atomic_load(&h->primary);
    if (primary < 0)
        return n;
    if (n == 0)
        return primary;
    return n <= primary ? n - 1 : n;
}

bool pg_hosts_try(struct pg_hosts *h, int host, int64_t now_mono_ms)
{
    long long at = atomic_load(&h->hosts[host].not_before_mono_ms);
    return at == 0 ||
           (now_mono_ms >= at && atomic_compare_exchange_strong(&h->hosts[host].not_before_mono_ms,
                                                                &at, now_mono_ms + TRY_MOST_MS));
}

void pg_hosts_tried(struct pg_hosts *h, int host, int before, bool good, int64_t took_ms,
                    int64_t now_mono_ms)
{
    bool silent = !good && took_ms >= SILENT_MS;
    atomic_store(&h->hosts[host].not_before_mono_ms, silent ? now_mono_ms + PG_TRY_AGAIN_MS : 0);
    int replaced = before;
    if (good && before != host && atomic_compare_exchange_strong(&h->primary, &before, host) &&
        replaced >= 0)
        log_info("primary_moved", LOG_C("host", h->hosts[host].name),
                 LOG_C("port", h->hosts[host].port));
}

bool pg_hosts_moved_from(struct pg_hosts *h, int host)
{
    return h && h->count > 0 && atomic_load(&h->primary) != host;
}
