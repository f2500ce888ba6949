/* See line_reader.h. */
#include "cli/line_reader.h"

bool line_read(FILE *f, struct buf *line, size_t bytes_most)
{
    int c = EOF;
    bool any = false;
    buf_clear(line);
    flockfile(f);
    while ((c = getc_unlocked(f)) != EOF && c != '\n') {
        any = true;
        if (line->n <= bytes_most)
            buf_add_char(line, (char)c);
    }
    funlockfile(f);
    return any || c == '\n';
}

struct str line_text(const struct buf *line, long number)
{
    struct str text = buf_str(line);
    const size_t n = 3;
    bool has_mark = number == 1 && str_has_prefix(text, "\xef\xbb\xbf");
    return has_mark ? (struct str){text.p + n, text.n - n} : text;
}
