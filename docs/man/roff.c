/* roff.c: text as roff. */
#include "pages.h"

#include <ctype.h>
#include <string.h>

bool of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* "spctl-merge(1)": its length up to the parenthesis; 0: it is none. */
static size_t reference(const char *text)
{
    size_t length = 0;
    while (of_name(text[length]))
        length++;
    bool is = length && text[length] == '(' && isdigit((unsigned char)text[length + 1]) && text[length + 2] == ')';
    return is ? length : 0;
}

void put_char(const struct page *page, char c)
{
    if (c == '\\')
        fputs("\\e", page->out);
    else if (c == '-')
        fputs("\\-", page->out);
    else
        fputc(c, page->out);
}

void put_plain(const struct page *page, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        put_char(page, text[i]);
}

/* A line of text, without its end. */
void put_text(const struct page *page, const char *text)
{
    bool literal = false, begins = true;
    if (*text == '.' || *text == '\'')
        fputs("\\&", page->out);
    for (; *text; text++) {
        size_t length = begins && !literal ? reference(text) : 0;
        if (*text == '`') {
            literal = !literal;
            fputs(literal ? "\\fB" : "\\fR", page->out);
        } else if (length) {
            fputs("\\fB", page->out);
            put_plain(page, text, length);
            fputs("\\fR", page->out);
            text += length - 1;
        } else {
            put_char(page, *text);
        }
        begins = !of_name(*text);
    }
}

enum block { BREAK, TEXT, VERBATIM };

/* Lines of text, and of examples, which are those that begin with `blanks` blanks. */
void put_block(const struct page *page, char *const *line, size_t count, size_t blanks)
{
    enum block block = TEXT;
    bool apart = false;
    for (size_t i = 0; i < count; i++) {
        const char *text = line[i];
        enum block next = !*text ? BREAK : strspn(text, " ") >= blanks ? VERBATIM : TEXT;
        if (next == BREAK) {
            apart = true;
            continue;
        }
        if (block == VERBATIM && next == TEXT)
            fputs(".fi\n.RE\n", page->out);
        if (apart && block == VERBATIM && next == VERBATIM)
            fputs("\n", page->out);
        else if (i && (apart || (block != VERBATIM && next == VERBATIM)))
            fputs(".PP\n", page->out);
        if (block != VERBATIM && next == VERBATIM)
            fputs(".RS\n.nf\n", page->out);
        put_text(page, next == VERBATIM ? text + blanks : text);
        fputc('\n', page->out);
        block = next;
        apart = false;
    }
    if (block == VERBATIM)
        fputs(".fi\n.RE\n", page->out);
}

/* The term of "- term :: words"; NULL: it is none. */
const char *item(const char *line, size_t *ret_length)
{
    const char *end = strncmp(line, "- ", 2) ? NULL : strstr(line, " :: ");
    if (!end)
        return NULL;
    *ret_length = (size_t)(end - line) - 2;
    return line + 2;
}
