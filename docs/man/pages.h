/* pages.h: what the parts of the generator of manual pages share. */
#ifndef PAGES_H
#define PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

/* Ends the program with a line. */
__attribute__((noreturn)) void die(const char *what, const char *which);

/* All of a file, which must be open, else the program ends: `what` names it. */
struct lines read_all(FILE *from, const char *what);
void finish(struct lines *lines);

/* Where a section of the prose begins, its count where there is none, and where it ends. */
size_t section_at(const struct lines *prose, const char *heading);
size_t section_end(const struct lines *prose, size_t at);

/* ---- roff.c: text as roff -----------------------------------------------------------------------------------------
 */

/* Whether names and references have it. */
bool of_name(char c);
void put_char(const struct page *page, char c);
void put_plain(const struct page *page, const char *text, size_t length);
/* A line of text, without its end: `x` is literal, name(1) a reference. */
void put_text(const struct page *page, const char *text);
/* Lines of text, and of examples, which are those that begin with `blanks` blanks. */
void put_block(const struct page *page, char *const *line, size_t count, size_t blanks);
/* The term of "- term :: words"; NULL: it is none. */
const char *item(const char *line, size_t *ret_length);

/* ---- help.c, header.c: what programs and headers say of themselves -------------------------------------------------
 */

/* Where the options of a help begin and end. */
void options_in(const struct lines *help, size_t *ret_first, size_t *ret_end);
/* Those of the page's program or verb, and what the prose adds to them. */
void put_options(const struct page *page);
/* A header of the project, by its path there. */
void put_header(const struct page *page, const char *path);

#endif
