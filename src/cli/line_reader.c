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

struct str text_without_mark(struct str text)
{
    return str_has_prefix(text, "\xef\xbb\xbf") ? (struct str){text.p + 3, text.n - 3} : text;
}

struct str line_text(const struct buf *line, long number)
{
    return number == 1 ? text_without_mark(buf_str(line)) : buf_str(line);
}
