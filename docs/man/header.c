/* header.c: a header as the manual of what it declares. */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

/* Lines of a comment without what marks it as one, until it ends; the number of the line after it. */
static size_t take_comment(const struct lines *header, size_t at, struct lines *ret)
{
    ret->count = 0;
    for (bool more = true; more && at < header->count; at++) {
        char *line = header->line[at], *end = strstr(line, "*/");
        more = !end;
        if (end)
            *end = 0;
        line += strncmp(line, "/*", 2) ? strspn(line, " ") : 1;
        line += *line == '*';
        line += *line == ' ';
        if (ret->count || *line)
            ret->line[ret->count++] = line;
    }
    while (ret->count && strspn(ret->line[ret->count - 1], " -") == strlen(ret->line[ret->count - 1]))
        ret->count--;
    return at;
}

/* Whether a heading stands before what follows, which then needs no break. */
static bool put_comment(const struct page *page, struct lines *comment, bool headed)
{
    char **line = comment->line;
    if (!comment->count)
        return headed;
    if (!strncmp(*line, "---- ", 5)) { /* a heading */
        char *dashes = strstr(*line + 5, " ---");
        if (dashes)
            *dashes = 0;
        fputs(".SS ", page->out);
        put_text(page, *line + 5);
        fputc('\n', page->out);
        for (comment->count--, line++; comment->count && !**line; comment->count--)
            line++;
        if (!comment->count)
            return true;
    } else {
        fputs(headed ? "" : ".PP\n", page->out);
    }
    for (size_t i = 0, from = 0; i <= comment->count; i++)
        if (i == comment->count || !strncmp(line[i], "- ", 2)) {
            put_block(page, line + from, i - from, 2);
            fputs(i < comment->count ? ".br\n" : "", page->out);
            from = i;
        }
    return false;
}

/* A header is the manual of what it declares: comments become text, all else stands as it is. */
void put_header(const struct page *page, const char *path)
{
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", SOURCE_ROOT, path);
    FILE *file = fopen(full, "r");
    struct lines header = read_all(file, full);
    struct lines comment = {.line = calloc(header.count + 1, sizeof(char *))};
    bool code = false, headed = true;
    fclose(file);
    for (size_t i = 0; comment.line && i < header.count;) {
        const char *line = header.line[i];
        bool begins = !strncmp(line, "/*", 2),
             plain = *line != '#' || (!strncmp(line, "#define", 7) && strchr(line, ' ') != strrchr(line, ' '));
        if (code && (begins || !*line))
            fputs(".fi\n", page->out);
        code = code && !begins && *line;
        if (begins) {
            i = take_comment(&header, i, &comment);
            headed = put_comment(page, &comment, headed);
            continue;
        }
        i++;
        if (!*line || !plain || !strncmp(line, "extern", 6) || !strcmp(line, "}"))
            continue;
        if (!code)
            fputs(headed ? ".nf\n" : ".PP\n.nf\n", page->out);
        code = true;
        headed = false;
        put_text(page, line);
        fputc('\n', page->out);
    }
    if (code)
        fputs(".fi\n", page->out);
    free(comment.line);
    finish(&header);
}
