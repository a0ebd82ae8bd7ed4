/* help.c: the options of a program, as its --help lists them. */
#include "pages.h"

#include <ctype.h>
#include <string.h>

/* "  -o, --output FILE   what it is". */
struct shown_option {
    const char *left, *help;
    size_t left_length;
};

static bool option_of(const char *line, struct shown_option *ret)
{
    size_t blanks = strspn(line, " ");
    if (blanks < 2 || blanks > 6 || line[blanks] != '-')
        return false;
    ret->left = line + blanks;
    const char *gap = strstr(ret->left, "  ");
    ret->left_length = gap ? (size_t)(gap - ret->left) : strlen(ret->left);
    ret->help = gap ? gap + strspn(gap, " ") : "";
    return true;
}

static bool is_option(const struct shown_option *option, const char *name, size_t length)
{
    for (const char *at = option->left; at + length <= option->left + option->left_length; at++)
        if (!strncmp(at, name, length) && (at == option->left || at[-1] == ' ') &&
            (at + length == option->left + option->left_length || strchr(" ,", at[length])))
            return true;
    return false;
}

/* Letters and names are bold, values are not. */
static void put_option_names(const struct page *page, const struct shown_option *option)
{
    bool bold = false;
    fputs(".TP\n", page->out);
    for (size_t i = 0; i < option->left_length; i++) {
        bool begins = i == 0 || option->left[i - 1] == ' ';
        if (begins && option->left[i] == '-' && !bold)
            fputs("\\fB", page->out);
        else if (begins && option->left[i] != '-')
            fputs("\\fI", page->out);
        bold = begins ? option->left[i] == '-' : bold;
        if (strchr(" ,", option->left[i]) && (i == 0 || !strchr(" ,", option->left[i - 1])))
            fputs("\\fR", page->out);
        bold = bold && !strchr(" ,", option->left[i]);
        put_char(page, option->left[i]);
    }
    fputs("\\fR\n", page->out);
}

size_t section_at(const struct lines *prose, const char *heading)
{
    size_t at = 0;
    while (at < prose->count && (strncmp(prose->line[at], "= ", 2) || strcmp(prose->line[at] + 2, heading)))
        at++;
    return at;
}

size_t section_end(const struct lines *prose, size_t at)
{
    for (at = at < prose->count ? at + 1 : at; at < prose->count && strncmp(prose->line[at], "= ", 2);)
        at++;
    return at;
}

/* What the prose adds to an option. */
static void put_more(const struct page *page, const struct shown_option *option)
{
    const struct lines *prose = &page->prose;
    size_t end = section_end(prose, section_at(prose, "OPTIONS"));
    for (size_t i = section_at(prose, "OPTIONS"); i < end; i++) {
        size_t length = 0;
        const char *term = item(prose->line[i], &length);
        if (!term || !is_option(option, term, length))
            continue;
        put_text(page, term + length + 4);
        fputc('\n', page->out);
        for (size_t unused; i + 1 < end && *prose->line[i + 1] && !item(prose->line[i + 1], &unused); i++) {
            put_text(page, prose->line[i + 1]);
            fputc('\n', page->out);
        }
    }
}

/* Where options begin and end in a help. */
void options_in(const struct lines *help, size_t *ret_first, size_t *ret_end)
{
    struct shown_option option;
    size_t first = 0;
    while (first < help->count && !option_of(help->line[first], &option))
        first++;
    *ret_first = *ret_end = first;
    for (size_t i = first; i < help->count && *help->line[i]; i++)
        *ret_end = i + 1;
}

static void check_more(const struct page *page, size_t first, size_t end)
{
    const struct lines *prose = &page->prose;
    size_t last = section_end(prose, section_at(prose, "OPTIONS"));
    for (size_t i = section_at(prose, "OPTIONS"); i < last; i++) {
        size_t length = 0;
        struct shown_option option;
        const char *term = item(prose->line[i], &length);
        bool known = !term;
        for (size_t k = first; !known && k < end; k++)
            known = option_of(page->help.line[k], &option) && is_option(&option, term, length);
        if (!known)
            die("the prose explains an option that there is not", term);
    }
}

void put_options(const struct page *page)
{
    size_t first, end;
    options_in(&page->help, &first, &end);
    check_more(page, first, end);
    for (size_t i = first; i < end;) {
        struct shown_option option;
        if (!option_of(page->help.line[i], &option))
            die("what is this among options", page->help.line[i]);
        put_option_names(page, &option);
        if (!*option.help)
            fputs("Print that, and end.", page->out);
        else if (option.help[strspn(option.help, "abcdefghijklmnopqrstuvwxyz")] == ' ') /* a word, and no value */
            fputc(toupper((unsigned char)*option.help++), page->out);
        put_text(page, option.help);
        for (i++; i < end && !option_of(page->help.line[i], &(struct shown_option){0}); i++) {
            fputc('\n', page->out);
            put_text(page, page->help.line[i] + strspn(page->help.line[i], " "));
        }
        fputs(*option.help ? ".\n" : "\n", page->out);
        put_more(page, &option);
    }
}
