/* pages OUT PROSE [PROGRAM [VERB]]: writes a manual page from its prose and from what PROGRAM prints of itself.
 *
 * Prose: "= X" begins a section, "== X" a part of one; "- term :: words" defines; lines of four blanks and more stand as
 * they are; `x` is literal. Lines "@options", "@verbs", "@environment" and "@header FILE" stand for what the program's
 * --help, its list of verbs, the table of variables and a header say. A verb's page begins with what its --help says;
 * its prose goes on from there, and items below "= OPTIONS" add to the options of that name. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "scope_profiler.h"

struct lines {
    char *text, **line;
    size_t count;
};

struct page {
    const char *name, *section;
    const char *program, *verb; /* NULL: none */
    FILE *out;
    struct lines prose, help, overview;
};

__attribute__((noreturn)) static void die(const char *what, const char *which)
{
    fprintf(stderr, "pages: %s: %s\n", which, what);
    exit(1);
}

/* Takes the text, NULL where there is none. */
static struct lines split(char *text)
{
    struct lines lines = {.text = text};
    for (char *at = text; at && *at;) {
        char *end = at + strcspn(at, "\n");
        lines.line = realloc(lines.line, (lines.count + 1) * sizeof *lines.line);
        if (!lines.line)
            die("out of memory", at);
        lines.line[lines.count++] = at;
        at = *end ? end + 1 : end;
        *end = 0;
    }
    return lines;
}

static void finish(struct lines *lines)
{
    free(lines->line);
    free(lines->text);
}

static struct lines read_all(FILE *from, const char *what)
{
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    while (from && text) {
        size_t got = fread(text + used, 1, room - used - 1, from);
        used += got;
        if (!got)
            break;
        if (used + 1 == room)
            text = realloc(text, room *= 2);
    }
    if (!from || !text || ferror(from))
        die(from ? "cannot be read" : strerror(errno), what);
    text[used] = 0;
    return split(text);
}

static struct lines ask(const char *program, const char *words)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s", program, words);
    FILE *pipe = popen(command, "r");
    struct lines lines = read_all(pipe, command);
    if (pclose(pipe) != 0)
        die("fails", command);
    return lines;
}

/* ---- words --------------------------------------------------------------------------------------------------------
 */

static bool of_name(char c)
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

static void put_char(const struct page *page, char c)
{
    if (c == '\\')
        fputs("\\e", page->out);
    else if (c == '-')
        fputs("\\-", page->out);
    else
        fputc(c, page->out);
}

static void put_plain(const struct page *page, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        put_char(page, text[i]);
}

/* A line of text, without its end. */
static void put_text(const struct page *page, const char *text)
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

/* ---- blocks -------------------------------------------------------------------------------------------------------
 */

enum block { BREAK, TEXT, VERBATIM };

/* Lines of text, and of examples, which are those that begin with `blanks` blanks. */
static void put_block(const struct page *page, char *const *line, size_t count, size_t blanks)
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
static const char *item(const char *line, size_t *ret_length)
{
    const char *end = strncmp(line, "- ", 2) ? NULL : strstr(line, " :: ");
    if (!end)
        return NULL;
    *ret_length = (size_t)(end - line) - 2;
    return line + 2;
}

/* ---- options ------------------------------------------------------------------------------------------------------
 */

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

static size_t section_at(const struct lines *prose, const char *heading)
{
    size_t at = 0;
    while (at < prose->count && (strncmp(prose->line[at], "= ", 2) || strcmp(prose->line[at] + 2, heading)))
        at++;
    return at;
}

static size_t section_end(const struct lines *prose, size_t at)
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
static void options_in(const struct lines *help, size_t *ret_first, size_t *ret_end)
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

static void put_options(const struct page *page)
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

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

/* "  verb   what it does" of the list of verbs. */
static bool verb_of(const char *line, size_t *ret_length, const char **ret_summary)
{
    if (strncmp(line, "  ", 2) || !islower((unsigned char)line[2]))
        return false;
    *ret_length = strcspn(line + 2, " ");
    *ret_summary = line + 2 + *ret_length + strspn(line + 2 + *ret_length, " ");
    return **ret_summary;
}

static void put_verbs(const struct page *page)
{
    for (size_t i = 0, length; i < page->overview.count; i++) {
        const char *summary;
        if (!verb_of(page->overview.line[i], &length, &summary))
            continue;
        fprintf(page->out, ".TP\n\\fB%.*s\\fR\n", (int)length, page->overview.line[i] + 2);
        put_text(page, summary);
        fprintf(page->out, "; see\n.BR %s\\-%.*s (1)\n", page->program, (int)length, page->overview.line[i] + 2);
    }
}

static void put_environment(const struct page *page)
{
    for (const struct sp__variable *variable = sp__variables; variable->name; variable++) {
        fprintf(page->out, ".TP\n\\fB%s\\fR\n", variable->name);
        put_text(page, variable->means);
        if (*variable->otherwise) {
            fputs(".\nDefault: ", page->out);
            put_text(page, variable->otherwise);
        }
        fputs(".\n", page->out);
    }
}

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
static void put_header(const struct page *page, const char *path)
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

/* ---- the page -----------------------------------------------------------------------------------------------------
 */

/* What stands in the help's first line after the names of program and verb. */
static void put_usage(const struct page *page)
{
    const char *rest = page->help.count ? strstr(page->help.line[0], page->program) : NULL;
    rest = rest ? rest + strlen(page->program) : "";
    rest += page->verb && *rest ? 1 + strlen(page->verb) : 0;
    fprintf(page->out, ".SH SYNOPSIS\n.B %s%s%s\n", page->program, page->verb ? " " : "", page->verb ? page->verb : "");
    put_text(page, rest + (*rest == ' '));
    fputc('\n', page->out);
}

static const char *summary_of(const struct page *page)
{
    for (size_t i = 0, length; page->verb && i < page->overview.count; i++) {
        const char *summary;
        if (verb_of(page->overview.line[i], &length, &summary) && strlen(page->verb) == length &&
            !strncmp(page->overview.line[i] + 2, page->verb, length))
            return summary;
    }
    const char *dash = page->prose.count ? strstr(page->prose.line[0], " - ") : NULL;
    if (!dash)
        die("its first line is not \"name - summary\"", page->name);
    return dash + 3;
}

/* What the help says before its options. */
static void put_about(const struct page *page)
{
    size_t first, end, last;
    options_in(&page->help, &first, &end);
    for (last = first; last > 2 && (!*page->help.line[last - 1] || !strcmp(page->help.line[last - 1], "Options:"));)
        last--;
    fputs(".SH DESCRIPTION\n", page->out);
    if (last > 2)
        put_block(page, page->help.line + 2, last - 2, 2);
}

/* Lines [from, to) of the prose. */
static void put_prose(const struct page *page, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char *const *line = &page->prose.line[i];
        size_t length, more = 1;
        if (!strncmp(*line, "= ", 2) || !strncmp(*line, "== ", 3)) {
            fputs((*line)[1] == '=' ? ".SS " : ".SH ", page->out);
            put_text(page, strchr(*line, ' ') + 1);
            fputc('\n', page->out);
        } else if (!strcmp(*line, "@options")) {
            put_options(page);
        } else if (!strcmp(*line, "@verbs")) {
            put_verbs(page);
        } else if (!strcmp(*line, "@environment")) {
            put_environment(page);
        } else if (!strncmp(*line, "@header ", 8)) {
            put_header(page, *line + 8);
        } else if (item(*line, &length)) {
            const char *term = item(*line, &length);
            fputs(".TP\n\\fB", page->out);
            put_plain(page, term, length);
            fputs("\\fR\n", page->out);
            put_text(page, term + length + 4);
            fputc('\n', page->out);
            for (size_t unused; i + more < to && *line[more] && !item(line[more], &unused); more++) {
                put_text(page, line[more]);
                fputc('\n', page->out);
            }
            i += more - 1;
        } else if (**line) {
            for (more = 0;
                 i + more < to && !strchr("=@", *line[more] ? *line[more] : ' ') && strncmp(line[more], "- ", 2);)
                more++;
            if (i > from && strncmp(page->prose.line[i - 1], "=", 1))
                fputs(".PP\n", page->out);
            put_block(page, line, more, 4);
            i += more - 1;
        }
    }
}

static void put_page(const struct page *page)
{
    const struct lines *prose = &page->prose;
    size_t options = section_at(prose, "OPTIONS"), first = 0, heading = 0;
    fputs(".TH ", page->out);
    for (const char *c = page->name; *c; c++)
        put_char(page, (char)toupper((unsigned char)*c));
    fprintf(page->out, " %s \"\" \"scope-profiler " SP_VERSION "\"\n.SH NAME\n", page->section);
    put_plain(page, page->name, strlen(page->name));
    fputs(" \\- ", page->out);
    put_text(page, summary_of(page));
    fputc('\n', page->out);
    if (page->program)
        put_usage(page);
    if (!page->verb) {
        put_prose(page, 1, prose->count);
        return;
    }
    put_about(page);
    while (heading < prose->count && strncmp(prose->line[heading], "= ", 2))
        heading++;
    fputs(heading ? ".PP\n" : "", page->out);
    put_prose(page, 0, heading);
    fputs(".SH OPTIONS\n", page->out);
    put_options(page);
    first = options < prose->count ? options : heading;
    put_prose(page, heading, first);
    put_prose(page, section_end(prose, options), prose->count);
    if (section_at(prose, "SEE ALSO") == prose->count)
        fprintf(page->out, ".SH SEE ALSO\n.BR %s (1)\n", page->program);
}

int main(int argc, char **argv)
{
    char words[256];
    if (argc < 3)
        die("OUT PROSE [PROGRAM [VERB]] are wanted", "usage");
    char *slash = strrchr(argv[1], '/'), *name = strdup(slash ? slash + 1 : argv[1]);
    char *dot = name ? strrchr(name, '.') : NULL;
    if (!dot)
        die("is not NAME.SECTION", argv[1]);
    *dot = 0;
    struct page page = {.name = name, .section = dot + 1};
    page.program = argc > 3 ? strrchr(argv[3], '/') + 1 : NULL;
    page.verb = argc > 4 ? argv[4] : NULL;
    FILE *prose = fopen(argv[2], "r");
    if (prose || !page.verb) /* a verb's page does without */
        page.prose = read_all(prose, argv[2]);
    if (prose)
        fclose(prose);
    if (page.program) {
        snprintf(words, sizeof words, "%s --help", page.verb ? page.verb : "");
        page.help = ask(argv[3], words);
        if (!strcmp(page.program, "spctl"))
            page.overview = ask(argv[3], "help");
    }
    page.out = fopen(argv[1], "w");
    if (!page.out)
        die(strerror(errno), argv[1]);
    put_page(&page);
    if (fclose(page.out) != 0)
        die(strerror(errno), argv[1]);
    finish(&page.prose);
    finish(&page.help);
    finish(&page.overview);
    free(name);
    return 0;
}
