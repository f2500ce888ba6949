/* The key that encrypts Callback Secrets. If none is given, one is made once in the store's
 * directory, readable only by its owner. That protects copies of the database, but not the machine,
 * so each start with such a key warns. */
#include "daemon/master_key.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE "master.key"
#define FILE_BYTES_MOST 4096

static bool fail(char **ret_why, const char *fmt, const char *path, const char *reason)
{
    struct buf text = {0};
    buf_printf(&text, fmt, path, reason);
    *ret_why = xstrdup(buf_c(&text));
    buf_free(&text);
    return false;
}

static bool make_file(const char *directory, const char *path, struct env *env, char **ret_why)
{
    uint8_t key[MASTER_KEY_BYTES];
    char hex[2 * MASTER_KEY_BYTES + 1];
    env_random(env, key, sizeof key);
    sodium_bin2hex(hex, sizeof hex, key, sizeof key);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(ret_why, "the master key file %s cannot be made: %s", path, strerror(errno));
    bool good = write(fd, hex, sizeof hex - 1) == (ssize_t)sizeof hex - 1 && fsync(fd) == 0;
    close(fd);
    sodium_memzero(key, sizeof key);
    sodium_memzero(hex, sizeof hex);
    int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = good && dir >= 0 && fsync(dir) == 0;
    if (dir >= 0)
        close(dir);
    if (!good) {
        unlink(path);
        return fail(ret_why, "the master key file %s cannot be written: %s", path, strerror(errno));
    }
    return true;
}

static bool parse_given(const char *variable, struct str text, uint8_t ret_key[MASTER_KEY_BYTES],
                        char **ret_why)
{
    const char *why;
    return master_key_parse(text, ret_key, &why) || fail(ret_why, "%s: %s", variable, why);
}

static void print_path(struct buf *to, const char *directory)
{
    buf_printf(to, "%s/" KEY_FILE, directory);
}

static bool parse_file(const char *path, uint8_t ret_key[MASTER_KEY_BYTES], char **ret_why)
{
    const char *wrong;
    char *why = NULL;
    struct buf text = {0};
    mode_t mode;
    if (!file_read(path, FILE_BYTES_MOST, &text, &mode, &why)) {
        *ret_why = xprintf("the master key file cannot be read: %s", why);
        free(why);
        return false;
    }
    if (mode & 077)
        log_warning("master_key_file_is_readable_by_others", LOG_C("file", path),
                    LOG_C("fix", "chmod 600"));
    bool good = master_key_parse(buf_str(&text), ret_key, &wrong);
    sodium_memzero(text.p, text.capacity);
    buf_free(&text);
    return good || fail(ret_why, "the master key file %s is damaged: %s", path, wrong);
}

static bool load_file(const char *directory, struct env *env, uint8_t ret_key[MASTER_KEY_BYTES],
                      char **ret_why)
{
    struct buf path = {0};
    print_path(&path, directory);
    bool good =
        (access(buf_c(&path), F_OK) == 0 || make_file(directory, buf_c(&path), env, ret_why)) &&
        parse_file(buf_c(&path), ret_key, ret_why);
    buf_free(&path);
    return good;
}

void master_key_file_warn(const char *directory)
{
    struct buf path = {0};
    print_path(&path, directory);
    log_warning("master_key_from_file", LOG_C("file", buf_c(&path)),
                LOG_C("advice", "set POSTBACKD_MASTER_KEY and keep it apart from the data"));
    buf_free(&path);
}

char *master_key_missing(const char *directory)
{
    return xprintf("POSTBACKD_MASTER_KEY is not set and %s/" KEY_FILE
                   " does not exist: this store was made with a key",
                   directory);
}

bool master_key_file_is_there(const char *directory)
{
    struct buf path = {0};
    print_path(&path, directory);
    bool is_there = access(buf_c(&path), F_OK) == 0;
    buf_free(&path);
    return is_there;
}

void master_key_file_unmake(const char *directory)
{
    struct buf path = {0};
    print_path(&path, directory);
    unlink(buf_c(&path));
    buf_free(&path);
}

bool master_key_file_check(const char *directory, bool *ret_is_there, char **ret_why)
{
    uint8_t key[MASTER_KEY_BYTES];
    struct buf path = {0};
    print_path(&path, directory);
    *ret_is_there = master_key_file_is_there(directory);
    bool good = !*ret_is_there || parse_file(buf_c(&path), key, ret_why);
    sodium_memzero(key, sizeof key);
    buf_free(&path);
    return good;
}

bool master_key_load(struct str given, struct str second, const char *directory, struct env *env,
                     struct vault *ret_vault, char **ret_why)
{
    struct vault vault = {.has_second = second.p != NULL};
    bool good = given.p ? parse_given("POSTBACKD_MASTER_KEY", given, vault.key, ret_why)
                        : load_file(directory, env, vault.key, ret_why);
    if (good && second.p)
        good = parse_given("POSTBACKD_SECOND_MASTER_KEY", second, vault.second, ret_why);
    if (good)
        *ret_vault = vault;
    sodium_memzero(&vault, sizeof vault);
    return good;
}
