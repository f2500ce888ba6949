/* The file is written by pwrite and mapped for reading only: a full disk is then an error of a
 * call, where a write to a mapping would be a signal. */
#include "store/sqlite/filter_memory.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_nameless(const char *database)
{
    const char *slash = strrchr(database, '/');
    char *folder = slash ? xprintf("%.*s", (int)(slash - database) + 1, database) : xstrdup(".");
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    free(folder);
    return fd;
}

static char *map(size_t size, int prot, int flags, int fd)
{
    void *at = mmap(NULL, size, prot, flags, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void use_ordinary(struct filter_memory *m)
{
    m->bytes = map(m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    ASSERT(m->bytes != NULL);
}

/* Transfers all bytes or none. */
static bool write_whole(int fd, struct str bytes, size_t at)
{
    while (bytes.n > 0) {
        ssize_t n = pwrite(fd, bytes.p, bytes.n, (off_t)at);
        if (n <= 0)
            return false;
        bytes.p += n;
        bytes.n -= (size_t)n;
        at += (size_t)n;
    }
    return true;
}

/* What is in the file is copied to ordinary memory. */
static void leave_file(struct filter_memory *m)
{
    char *in_file = m->used > 0 ? map(m->size, PROT_READ, MAP_SHARED, m->fd) : NULL;
    ASSERT(in_file != NULL || m->used == 0);
    use_ordinary(m);
    if (in_file) {
        memcpy(m->bytes, in_file, m->used);
        munmap(in_file, m->size);
    }
    close(m->fd);
    m->fd = -1;
}

void filter_memory_begin(struct filter_memory *m, const char *database, size_t size)
{
    *m = (struct filter_memory){.size = size, .fd = open_nameless(database)};
    if (m->fd < 0)
        use_ordinary(m);
    else if (ftruncate(m->fd, (off_t)size) != 0)
        leave_file(m);
}

bool filter_memory_add(struct filter_memory *m, struct str bytes)
{
    if (bytes.n > m->size - m->used)
        return false;
    if (m->fd >= 0 && !write_whole(m->fd, bytes, m->used))
        leave_file(m);
    if (m->fd < 0)
        memcpy(m->bytes + m->used, bytes.p, bytes.n);
    m->used += bytes.n;
    return true;
}

void filter_memory_end(struct filter_memory *m)
{
    if (m->fd < 0)
        return;
    m->bytes = map(m->size, PROT_READ, MAP_SHARED, m->fd);
    m->is_mapped = m->bytes != NULL;
    if (!m->is_mapped)
        leave_file(m);
    else
        close(m->fd);
    m->fd = -1;
    if (m->is_mapped) /* a page that was dropped is read alone, without its neighbours */
        (void)madvise(m->bytes, m->size, MADV_RANDOM);
}

void filter_memory_free(struct filter_memory *m)
{
    if (m->bytes)
        munmap(m->bytes, m->size);
    if (m->size > 0 && m->fd >= 0)
        close(m->fd);
    *m = (struct filter_memory){0};
}
