/* pages OUT PROSE [PROGRAM [VERB]]: writes a manual page from its prose and from what PROGRAM prints of itself.
 *
 * Prose: "= X" begins a section, "== X" a part of one; "- term :: words" defines; lines of four blanks and more stand as
 * they are; `x` is literal. Lines "@options", "@verbs", "@environment" and "@header FILE" stand for what the program's
 * --help, its list of verbs, the table of variables and a header say. A verb's page begins with what its --help says;
 * its prose goes on from there, and items below "= OPTIONS" add to the options of that name. */
#include "pages.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "scope_profiler.h"

void die(const char *what, const char *which)
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

void finish(struct lines *lines)
{
    free(lines->line);
    free(lines->text);
}

struct lines read_all(FILE *from, const char *what)
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
    size_t options = section_at(prose, "OPTIONS"), heading = 0;
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
    put_prose(page, heading, options);
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
