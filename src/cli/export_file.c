/* Rows are synced before the state that counts them, so a state never counts rows lost in a power
 * cut. */
#include "cli/export_file.h"

#include "cli/command.h"
#include "cli/export_s3.h"
#include "cli/export_state.h"
#include "store/disk.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_BYTES_MOST 65536

void export_place_free(struct export_place *place)
{
    buf_free(&place->partner);
    buf_free(&place->partners_after);
    buf_free(&place->after);
}

static bool fail(struct buf *path, int error)
{
    command_fail(1, "%s cannot be written: %s", path->n ? buf_c(path) : "the standard output",
                 strerror(error < 0 ? -error : error));
    return false;
}

/* --- the state -------------------------------------------------------------------------------- */

static void print_state(struct buf *to, const struct export_file *f,
                        const struct export_place *place)
{
    struct json_writer w;
    json_write_to(&w, to);
    json_object(&w);
    export_state_print(&w, f->identity, f->bytes, place);
    json_end_object(&w);
}

static int save_text(struct disk *disk, const char *path, struct str text)
{
    int fd = disk->open(disk, path, true, false);
    if (fd < 0)
        return fd;
    int result = disk->truncate(disk, fd, 0);
    if (result == 0)
        result = disk_write_all(disk, fd, text.p, text.n, 0);
    if (result == 0)
        result = disk->sync_file(disk, fd);
    disk->close(disk, fd);
    return result;
}

static int sync_directory_of(struct disk *disk, const char *path)
{
    struct buf copy = {0};
    buf_add_c(&copy, path);
    (void)buf_c(&copy); /* ends it with a zero, which dirname needs */
    int result = disk->sync_directory(disk, dirname(copy.p));
    buf_free(&copy);
    return result;
}

static bool save_state(struct export_file *f, const struct export_place *place)
{
    struct disk *disk = disk_real();
    struct buf text = {0}, fresh = {0};
    print_state(&text, f, place);
    buf_printf(&fresh, "%s.new", buf_c(&f->state));
    int result = save_text(disk, buf_c(&fresh), buf_str(&text));
    if (result == 0)
        result = disk->rename(disk, buf_c(&fresh), buf_c(&f->state));
    buf_free(&text);
    buf_free(&fresh);
    return result == 0 || fail(&f->state, result);
}

/* If the file has fewer bytes than the state says, the run begins again. */
static bool take_state(struct export_file *f, const struct json *state, struct export_place *place)
{
    int64_t bytes = export_state_int(state, "Bytes");
    if (disk_real()->size(disk_real(), f->fd) < bytes || !export_state_is_whole(state))
        return true;
    if (!export_state_is_of(state, f->identity))
        return command_fail(1,
                            "%s is of another export. To continue that one, give its options; to "
                            "drop it, delete %s and %s.",
                            buf_c(&f->part), buf_c(&f->part), buf_c(&f->state)) == 0;
    f->bytes = bytes;
    export_state_take_place(state, place);
    return true;
}

static bool read_state(struct export_file *f, struct export_place *place)
{
    FILE *in = fopen(buf_c(&f->state), "r");
    if (!in)
        return true;
    struct arena arena = {0};
    char *text = arena_alloc(&arena, STATE_BYTES_MOST);
    struct str read = {text, fread(text, 1, STATE_BYTES_MOST, in)}, why;
    struct json *state = NULL;
    bool good = !json_parse(&arena, read, &state, &why) || take_state(f, state, place);
    arena_free(&arena);
    fclose(in);
    return good;
}

/* --- the rows --------------------------------------------------------------------------------- */

bool export_file_open(struct export_file *f, const char *name, struct str identity,
                      struct export_place *place)
{
    *f = (struct export_file){.name = name, .identity = identity, .fd = STDOUT_FILENO};
    if (!name)
        return true;
    if (export_s3_is_url(name)) {
        f->s3 = export_s3_open(name, identity, place, &f->bytes);
        return f->s3 != NULL;
    }
    struct disk *disk = disk_real();
    struct stat named;
    if (lstat(name, &named) == 0 && !S_ISREG(named.st_mode))
        return command_fail(1,
                            "%s is not a regular file, which the export would replace. Without "
                            "FILE it goes to the standard output.",
                            name) == 0;
    buf_printf(&f->part, "%s.part", name);
    buf_printf(&f->state, "%s.part.state", name);
    f->fd = disk->open(disk, buf_c(&f->part), true, false);
    if (f->fd < 0)
        return fail(&f->part, f->fd);
    /* also fails if the other process has just renamed the file to its final name */
    if (disk_lock(f->fd, buf_c(&f->part)) != 0) {
        disk->close(disk, f->fd);
        f->fd = -1;
        command_fail(1, "%s is being written by another process.", buf_c(&f->part));
        return false;
    }
    if (!read_state(f, place))
        return false;
    int result = disk->truncate(disk, f->fd, f->bytes);
    return result == 0 || fail(&f->part, result);
}

static bool write_standard_output(struct export_file *f, struct str rows)
{
    while (rows.n) {
        ssize_t n = write(f->fd, rows.p, rows.n);
        if (n < 0 && errno != EINTR)
            return fail(&f->part, errno);
        if (n > 0)
            rows = (struct str){rows.p + n, rows.n - (size_t)n};
    }
    return true;
}

bool export_file_add(struct export_file *f, struct str rows, const struct export_place *place)
{
    struct disk *disk = disk_real();
    if (f->s3) {
        f->bytes += (int64_t)rows.n;
        return export_s3_add(f->s3, rows, place);
    }
    if (!f->name)
        return write_standard_output(f, rows);
    int result = disk_write_all(disk, f->fd, rows.p, rows.n, f->bytes);
    if (result == 0)
        result = disk->sync_file(disk, f->fd);
    if (result != 0)
        return fail(&f->part, result);
    f->bytes += (int64_t)rows.n;
    return !place || save_state(f, place);
}

/* A crash between the two steps leaves a whole file and a useless state; the next run begins again,
 * because its NAME.part is empty. */
bool export_file_end(struct export_file *f)
{
    struct disk *disk = disk_real();
    if (f->s3)
        return export_s3_end(f->s3);
    if (!f->name)
        return true;
    int result = disk->sync_file(disk, f->fd);
    if (result == 0)
        result = disk->rename(disk, buf_c(&f->part), f->name);
    if (result == 0 && access(buf_c(&f->state), F_OK) == 0)
        result = disk->unlink(disk, buf_c(&f->state));
    if (result == 0)
        result = sync_directory_of(disk, f->name);
    return result == 0 || fail(&f->part, result);
}

void export_file_close(struct export_file *f)
{
    struct disk *disk = disk_real();
    export_s3_close(f->s3);
    if (f->name && !export_s3_is_url(f->name) && f->fd >= 0) {
        if (disk->size(disk, f->fd) == 0) /* nothing to continue */
            (void)disk->unlink(disk, buf_c(&f->part));
        disk->close(disk, f->fd);
    }
    buf_free(&f->part);
    buf_free(&f->state);
}
