/* Files, names, descriptors and misfortune behind one lock.
 *
 * Two directories are kept: what can be read now, and what is durable; between them stands the
 * list of changes of names in order, as each file keeps its list of changes of bytes. A power cut
 * decides about every change in both lists and makes the durable side the readable one. */
#include "sim_disk.h"

#include "base/alloc.h"
#include "sim_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- names ----------------------------------------------------------------------------------- */

static struct sim_name *find_name(struct sim_names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i].path, path) == 0)
            return &names->items[i];
    return NULL;
}

struct sim_file *sim_find(struct sim_disk *s, const char *path)
{
    struct sim_name *name = find_name(&s->now, path);
    return name ? name->file : NULL;
}

void sim_unlink_file(struct sim_file *f)
{
    if (--f->links == 0)
        sim_file_free(f);
}

static void drop_name(struct sim_names *names, const char *path)
{
    struct sim_name *name = find_name(names, path);
    if (!name)
        return;
    sim_unlink_file(name->file);
    free(name->path);
    *name = names->items[--names->count];
}

static void set_name(struct sim_names *names, const char *path, struct sim_file *f)
{
    f->links++;
    drop_name(names, path);
    *ARRAY_PUSH(names->items, names->count, names->capacity) = (struct sim_name){xstrdup(path), f};
}

static void apply_name_change(struct sim_names *names, const struct sim_name_change *c)
{
    if (c->from)
        drop_name(names, c->from);
    if (c->file)
        set_name(names, c->to, c->file);
}

static void free_name_change(struct sim_name_change *c)
{
    free(c->from);
    free(c->to);
    if (c->file)
        sim_unlink_file(c->file);
}

/* from: the name that goes, to: the one that comes with `file`; either may be NULL. */
static void change_name(struct sim_disk *s, const char *from, const char *to, struct sim_file *f)
{
    struct sim_name_change c = {
        .from = from ? xstrdup(from) : NULL,
        .to = to ? xstrdup(to) : NULL,
        .file = to ? f : NULL,
        .when = s->changes,
    };
    if (c.file)
        c.file->links++;
    apply_name_change(&s->now, &c);
    *ARRAY_PUSH(s->name_changes, s->name_change_count, s->name_change_capacity) = c;
}

static void clear_names(struct sim_names *names)
{
    while (names->count)
        drop_name(names, names->items[0].path);
}

/* --- faults ---------------------------------------------------------------------------------- */

/* -EIO when the power is off, or the error that was ordered for this call. */
static int maybe_fail(struct sim_disk *s, enum sim_fault fault, const char *path)
{
    int result = s->off ? -EIO : 0;
    for (size_t i = 0; i < SIM_ORDERS; i++) {
        struct sim_order *o = &s->orders[i];
        if (o->countdown == 0 || o->fault != fault || (o->in && !strstr(path, o->in)))
            continue;
        if (--o->countdown != 0 || result != 0)
            continue;
        result = -o->error;
        o->countdown = o->every;
        if (s->cut_after_failure)
            s->cut_countdown = s->cut_after_failure;
    }
    return result;
}

static void forgive(struct sim_disk *s)
{
    memset(s->orders, 0, sizeof s->orders);
    s->cut_countdown = s->cut_after_failure = 0;
}

/* Counts a change; true when the power goes with it: it may then arrive in part. */
static bool is_last_change(struct sim_disk *s)
{
    s->changes++;
    if (s->cut_countdown && --s->cut_countdown == 0)
        s->off = true;
    return s->off;
}

static uint64_t bytes_in_all(const struct sim_disk *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->now.count; i++)
        bytes += s->now.items[i].file->now.bytes;
    return bytes;
}

/* --- the slots ------------------------------------------------------------------------------- */

struct sim_disk *sim_of(struct disk *disk)
{
    struct sim_disk *s = CONTAINER_OF(disk, struct sim_disk, disk);
    CHECK_MAGIC(s, SIM_DISK_MAGIC);
    return s;
}

static struct sim_file *file_of(struct sim_disk *s, int fd)
{
    size_t i = (size_t)(fd - SIM_FIRST_FD);
    ASSERT(fd >= SIM_FIRST_FD && i < s->fd_count && s->fds[i]);
    return s->fds[i];
}

int sim_open(struct disk *disk, const char *path, bool create, bool direct)
{
    (void)direct;
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int result = maybe_fail(s, SIM_OPEN, path);
    struct sim_file *f = sim_find(s, path);
    if (result == 0 && !f && !create)
        result = -ENOENT;
    if (result == 0 && !f) {
        f = xcalloc(1, sizeof *f);
        f->path = xstrdup(path);
        is_last_change(s);
        change_name(s, NULL, path, f);
    }
    if (result == 0) {
        size_t i = 0;
        while (i < s->fd_count && s->fds[i])
            i++;
        s->fds = xgrow(s->fds, &s->fd_capacity, i + 1, sizeof(struct sim_file *));
        s->fds[i] = f;
        f->links++;
        if (i == s->fd_count)
            s->fd_count++;
        result = SIM_FIRST_FD + (int)i;
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

int sim_close(struct disk *disk, int fd)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    struct sim_file *f = file_of(s, fd);
    s->fds[fd - SIM_FIRST_FD] = NULL;
    sim_unlink_file(f);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

ssize_t sim_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    struct sim_file *f = file_of(s, fd);
    ssize_t result = maybe_fail(s, SIM_READ, f->path);
    if (result == 0)
        result = (ssize_t)sparse_read(&f->now, (uint64_t)offset, to, n);
    pthread_mutex_unlock(&s->lock);
    return result;
}

ssize_t sim_write_at(struct disk *disk, int fd, const void *from, size_t n, int64_t offset)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    struct sim_file *f = file_of(s, fd);
    ssize_t result = maybe_fail(s, SIM_WRITE, f->path);
    uint64_t end = (uint64_t)offset + n;
    if (result == 0 && s->capacity && end > f->now.bytes &&
        bytes_in_all(s) + (end - f->now.bytes) > s->capacity)
        result = -ENOSPC;
    if (result == 0) {
        bool last = is_last_change(s);
        sim_file_write(f, (uint64_t)offset, from, n, s->changes);
        result = last ? -EIO : (ssize_t)n;
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

int sim_sync_file(struct disk *disk, int fd)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    bool was_off = s->off;
    struct sim_file *f = file_of(s, fd);
    int result = maybe_fail(s, SIM_SYNC, f->path);
    if (result < 0 && !was_off)
        sim_file_forget(f);
    if (result == 0 && is_last_change(s))
        result = -EIO;
    if (result == 0 && !s->lying)
        sim_file_settle(f);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static bool is_in(const char *path, const char *directory)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    return slash ? strlen(directory) == n && memcmp(path, directory, n) == 0
                 : strcmp(directory, ".") == 0;
}

int sim_sync_directory(struct disk *disk, const char *path)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int result = maybe_fail(s, SIM_SYNC, path);
    if (result == 0 && is_last_change(s))
        result = -EIO;
    size_t kept = 0;
    for (size_t i = 0; result == 0 && i < s->name_change_count; i++) {
        struct sim_name_change c = s->name_changes[i];
        if (!is_in(c.to ? c.to : c.from, path)) {
            s->name_changes[kept++] = c;
            continue;
        }
        apply_name_change(&s->durable, &c);
        free_name_change(&c);
    }
    if (result == 0)
        s->name_change_count = kept;
    pthread_mutex_unlock(&s->lock);
    return result;
}

static int sim_rename(struct disk *disk, const char *from, const char *to)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int result = maybe_fail(s, SIM_OPEN, from);
    struct sim_file *f = sim_find(s, from);
    if (result == 0 && !f)
        result = -ENOENT;
    if (result == 0) {
        if (is_last_change(s))
            result = -EIO;
        change_name(s, from, to, f);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

int sim_unlink(struct disk *disk, const char *path)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int result = maybe_fail(s, SIM_OPEN, path);
    if (result == 0 && !sim_find(s, path))
        result = -ENOENT;
    if (result == 0) {
        if (is_last_change(s))
            result = -EIO;
        change_name(s, path, NULL, NULL);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

int64_t sim_size(struct disk *disk, int fd)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int64_t result = s->off ? -EIO : (int64_t)file_of(s, fd)->now.bytes;
    pthread_mutex_unlock(&s->lock);
    return result;
}

int sim_truncate(struct disk *disk, int fd, int64_t size)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    struct sim_file *f = file_of(s, fd);
    int result = maybe_fail(s, SIM_WRITE, f->path);
    if (result == 0) {
        if (is_last_change(s))
            result = -EIO;
        sim_file_truncate(f, (uint64_t)size, s->changes);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

static int sim_list(struct disk *disk, const char *path,
                    void (*visit)(void *context, const char *name), void *context)
{
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int result = maybe_fail(s, SIM_READ, path);
    for (size_t i = 0; result == 0 && i < s->now.count; i++)
        if (is_in(s->now.items[i].path, path))
            visit(context, strrchr(s->now.items[i].path, '/') + 1);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static int sim_make_directory(struct disk *disk, const char *path)
{
    (void)path;
    struct sim_disk *s = sim_of(disk);
    pthread_mutex_lock(&s->lock);
    int result = s->off ? -EIO : -EEXIST; /* every directory is there already */
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* --- a power cut ------------------------------------------------------------------------------ */

enum cut_style { CUT_LOSES_ALL, CUT_KEEPS_ALL, CUT_BY_TIME, CUT_BY_SECTOR, CUT_STYLES };

struct cut {
    struct rng *rng;
    enum cut_style style;
    uint64_t upto;     /* CUT_BY_TIME: changes before that have arrived, that one in part */
    uint64_t chance;   /* CUT_BY_SECTOR: of 8 */
    bool keeps_change; /* of the change looked at */
    bool tears_change;
};

static bool keeps_sector(void *context)
{
    struct cut *cut = context;
    return cut->tears_change ? rng_below(cut->rng, 8) < cut->chance : cut->keeps_change;
}

static void look_at(struct cut *cut, uint64_t when)
{
    cut->tears_change = false;
    switch (cut->style) {
    case CUT_LOSES_ALL: cut->keeps_change = false; break;
    case CUT_KEEPS_ALL: cut->keeps_change = true; break;
    case CUT_BY_TIME:
        cut->keeps_change = when < cut->upto;
        cut->tears_change = when == cut->upto;
        break;
    default: cut->tears_change = true;
    }
}

static void cut_file(struct cut *cut, struct sim_file *f)
{
    for (size_t i = 0; i < f->change_count; i++) {
        look_at(cut, f->changes[i].when);
        sim_file_arrive(f, &f->changes[i], keeps_sector, cut);
    }
    sim_file_forget(f);
    sparse_copy(&f->now, &f->durable);
    ASSERT(f->shared == NULL);
}

/* Every file once, whatever names it has. */
static void cut_files(struct sim_disk *s, struct cut *cut)
{
    for (size_t i = 0; i < s->now.count; i++)
        cut_file(cut, s->now.items[i].file);
    for (size_t i = 0; i < s->durable.count; i++)
        cut_file(cut, s->durable.items[i].file);
    for (size_t i = 0; i < s->name_change_count; i++)
        if (s->name_changes[i].file)
            cut_file(cut, s->name_changes[i].file);
}

/* Changes of names arrive in their order, up to some moment: file systems journal them. */
static void cut_names(struct sim_disk *s, struct cut *cut)
{
    uint64_t arrived = s->name_change_count;
    if (cut->style == CUT_LOSES_ALL)
        arrived = 0;
    else if (cut->style != CUT_KEEPS_ALL)
        arrived = rng_below(&s->rng, s->name_change_count + 1);
    for (size_t i = 0; i < s->name_change_count; i++) {
        if (i < arrived)
            apply_name_change(&s->durable, &s->name_changes[i]);
        free_name_change(&s->name_changes[i]);
    }
    s->name_change_count = 0;
    clear_names(&s->now);
    for (size_t i = 0; i < s->durable.count; i++)
        set_name(&s->now, s->durable.items[i].path, s->durable.items[i].file);
}

void sim_disk_restart(struct sim_disk *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->fd_count; i++)
        ASSERT(s->fds[i] == NULL);
    struct cut cut = {
        .rng = &s->rng,
        .style = (enum cut_style)rng_below(&s->rng, CUT_STYLES),
        .chance = 1 + rng_below(&s->rng, 7),
    };
    uint64_t span = s->changes < 64 ? s->changes + 1 : 64;
    cut.upto = s->changes + 1 - rng_below(&s->rng, span);
    cut_files(s, &cut);
    cut_names(s, &cut);
    s->off = false;
    forgive(s);
    pthread_mutex_unlock(&s->lock);
}

/* --- orders ----------------------------------------------------------------------------------- */

void sim_disk_cut_after(struct sim_disk *s, uint64_t n)
{
    pthread_mutex_lock(&s->lock);
    s->cut_countdown = n;
    pthread_mutex_unlock(&s->lock);
}

void sim_disk_cut_now(struct sim_disk *s)
{
    pthread_mutex_lock(&s->lock);
    s->off = true;
    pthread_mutex_unlock(&s->lock);
}

bool sim_disk_is_off(struct sim_disk *s)
{
    pthread_mutex_lock(&s->lock);
    bool off = s->off;
    pthread_mutex_unlock(&s->lock);
    return off;
}

uint64_t sim_disk_changes(struct sim_disk *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t changes = s->changes;
    pthread_mutex_unlock(&s->lock);
    return changes;
}

static void order(struct sim_disk *s, const struct sim_order *what)
{
    pthread_mutex_lock(&s->lock);
    size_t i = 0;
    while (i < SIM_ORDERS && s->orders[i].countdown)
        i++;
    ASSERT(i < SIM_ORDERS && what->countdown > 0);
    s->orders[i] = *what;
    pthread_mutex_unlock(&s->lock);
}

void sim_disk_fail(struct sim_disk *s, enum sim_fault fault, const char *in, uint64_t n, int error)
{
    order(s, &(struct sim_order){.fault = fault, .in = in, .countdown = n, .error = error});
}

void sim_disk_fail_every(struct sim_disk *s, enum sim_fault fault, const char *in, int error)
{
    order(s, &(struct sim_order){
                 .fault = fault, .in = in, .countdown = 1, .error = error, .every = true});
}

void sim_disk_forgive(struct sim_disk *s)
{
    pthread_mutex_lock(&s->lock);
    forgive(s);
    pthread_mutex_unlock(&s->lock);
}

void sim_disk_cut_after_failure(struct sim_disk *s, uint64_t n)
{
    pthread_mutex_lock(&s->lock);
    s->cut_after_failure = n;
    pthread_mutex_unlock(&s->lock);
}

void sim_disk_set_capacity(struct sim_disk *s, uint64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    s->capacity = bytes;
    pthread_mutex_unlock(&s->lock);
}

void sim_disk_set_lying(struct sim_disk *s, bool lying)
{
    pthread_mutex_lock(&s->lock);
    s->lying = lying;
    pthread_mutex_unlock(&s->lock);
}

int64_t sim_disk_file_bytes(struct sim_disk *s, const char *path)
{
    pthread_mutex_lock(&s->lock);
    struct sim_file *f = sim_find(s, path);
    int64_t bytes = f ? (int64_t)f->now.bytes : -1;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

void sim_disk_scribble(struct sim_disk *s, const char *path, uint64_t offset, const void *p,
                       size_t n)
{
    pthread_mutex_lock(&s->lock);
    struct sim_file *f = sim_find(s, path);
    ASSERT(f != NULL);
    sparse_write(&f->now, offset, p, n);
    sparse_write(&f->durable, offset, p, n);
    pthread_mutex_unlock(&s->lock);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sim_disk *sim_disk_new(uint64_t seed)
{
    struct sim_disk *s = xcalloc(1, sizeof *s);
    s->magic = SIM_DISK_MAGIC;
    rng_seed(&s->rng, seed);
    pthread_mutex_init(&s->lock, NULL);
    s->disk = (struct disk){
        .open = sim_open,
        .close = sim_close,
        .read_at = sim_read_at,
        .write_at = sim_write_at,
        .sync_file = sim_sync_file,
        .sync_directory = sim_sync_directory,
        .rename = sim_rename,
        .unlink = sim_unlink,
        .size = sim_size,
        .truncate = sim_truncate,
        .list = sim_list,
        .make_directory = sim_make_directory,
    };
    return s;
}

struct disk *sim_disk_of(struct sim_disk *s)
{
    return &s->disk;
}

void sim_disk_free(struct sim_disk *s)
{
    for (size_t i = 0; i < s->fd_count; i++)
        ASSERT(s->fds[i] == NULL);
    for (size_t i = 0; i < s->name_change_count; i++)
        free_name_change(&s->name_changes[i]);
    clear_names(&s->now);
    clear_names(&s->durable);
    free(s->now.items);
    free(s->durable.items);
    free(s->name_changes);
    free(s->fds);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
