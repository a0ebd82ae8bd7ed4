/* names.c: what a function is called. Objects are found through dl_iterate_phdr, whose lock is held for moments only:
 * that of dladdr and dlsym is held while constructors and destructors of plug-ins run, which may wait for a thread that
 * is in here. Names come from the symbol table of the object's file, so static functions have theirs. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef SP__LIBELF
#include <gelf.h>
#endif

#include "instrument.h"
#include "layout.h"
#include "names.h"
#include "utf8.h"

/* libstdc++'s, where the program has it: this library needs none. Bound when it is loaded, since asking later takes the
 * loader's lock. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status) __attribute__((weak));

struct symbol {
    uint64_t value;
    uint32_t name; /* offset into strings */
    uint32_t rank; /* the smaller, the better of two names of one function */
};

/* An object that a function was asked for in. */
struct object {
    struct object *next;
    uintptr_t base, start, end;
    struct symbol *symbols; /* by value, then rank */
    size_t count;
    char *strings;
    bool loaded;
    char path[];
};

static struct object *objects;
static unsigned long long unloads; /* dlpi_subs when it was looked at last */

struct place {
    uintptr_t address; /* to find; 0: every known object is marked that is still loaded */
    bool found;
    uintptr_t base, start, end;
    unsigned long long unloads;
    char path[SP__PATH_SIZE];
};

SP__PLAIN static void range_of(const struct dl_phdr_info *info, uintptr_t *ret_start, uintptr_t *ret_end)
{
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        start = from < start ? from : start;
        end = to > end ? to : end;
    }
    *ret_start = start;
    *ret_end = end;
}

SP__PLAIN static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    struct place *place = context;
    uintptr_t start, end;
    (void)size;
    place->unloads = info->dlpi_subs;
    range_of(info, &start, &end);
    for (struct object *o = place->address ? NULL : objects; o; o = o->next)
        o->loaded =
            o->loaded || (o->base == info->dlpi_addr && o->start == start && strcmp(o->path, info->dlpi_name) == 0);
    if (place->address < start || place->address >= end)
        return 0;
    place->found = true;
    place->base = info->dlpi_addr;
    place->start = start;
    place->end = end;
    (void)snprintf(place->path, sizeof place->path, "%s", info->dlpi_name);
    return 1;
}

SP__PLAIN void sp__function_unloaded(void (*gone)(uintptr_t start, uintptr_t end))
{
    struct place place = {.address = 0};
    for (struct object *o = objects; o; o = o->next)
        o->loaded = false;
    (void)dl_iterate_phdr(look, &place);
    for (struct object **at = &objects; place.unloads != unloads && *at;) {
        struct object *o = *at;
        if (o->loaded) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        gone(o->start, o->end);
        free(o->symbols);
        free(o->strings);
        free(o);
    }
    unloads = place.unloads;
}

/* The file of an object; the program's own has no name. */
SP__PLAIN static const char *file_of(const struct object *o)
{
    return o->path[0] ? o->path : "/proc/self/exe";
}

#ifdef SP__LIBELF
SP__PLAIN static int by_value(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Copies the functions of a symbol table, of which nothing is trusted that libelf does not check. */
SP__PLAIN static void take_symbols(struct object *o, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    Elf_Data *strings = elf_getdata(elf_getscn(elf, header->sh_link), NULL);
    if (!data || !strings || !strings->d_buf || strings->d_size == 0 || strings->d_size > UINT32_MAX ||
        !header->sh_entsize)
        return;
    size_t most = data->d_size / header->sh_entsize;
    o->symbols = malloc(most * sizeof *o->symbols + 1);
    o->strings = malloc(strings->d_size);
    if (!o->symbols || !o->strings)
        return;
    memcpy(o->strings, strings->d_buf, strings->d_size);
    o->strings[strings->d_size - 1] = '\0';
    for (size_t i = 0; i < most && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        int type = gelf_getsym(data, (int)i, &symbol) ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;
        /* One that is not defined here but has a value is where a fixed-address program enters another object's. */
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_value == 0 || symbol.st_name >= strings->d_size)
            continue;
        uint32_t rank = GELF_ST_BIND(symbol.st_info) == STB_GLOBAL ? 0
                        : GELF_ST_BIND(symbol.st_info) == STB_WEAK ? 1
                                                                   : 2;
        o->symbols[o->count++] = (struct symbol){symbol.st_value, symbol.st_name, rank};
    }
    qsort(o->symbols, o->count, sizeof *o->symbols, by_value);
}

/* From .symtab, or from .dynsym where that was stripped. Read, not mapped: a file that is cut short while it is mapped
 * would bring the program down. */
SP__PLAIN static void read_symbols(struct object *o)
{
    int fd = open(file_of(o), O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    Elf_Scn *best = NULL;
    GElf_Shdr header, best_header = {0};
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            (best && header.sh_type != SHT_SYMTAB))
            continue;
        best = section;
        best_header = header;
    }
    if (best)
        take_symbols(o, elf, best, &best_header);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
}

SP__PLAIN static const char *symbol_of(struct object *o, const void *function)
{
    uint64_t value = (uintptr_t)function - o->base;
    size_t low = 0, high = o->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->symbols[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->count && o->symbols[low].value == value ? o->strings + o->symbols[low].name : NULL;
}
#else
SP__PLAIN static void read_symbols(struct object *o)
{
    (void)o;
}

/* Exported functions only; the nearest name before a static one would be a wrong one. */
SP__PLAIN static const char *symbol_of(struct object *o, const void *function)
{
    Dl_info info;
    (void)o;
    return dladdr(function, &info) && info.dli_saddr == function ? info.dli_sname : NULL;
}
#endif

SP__PLAIN static struct object *object_of(const void *function)
{
    uintptr_t address = (uintptr_t)function;
    for (struct object *o = objects; o; o = o->next) {
        if (address >= o->start && address < o->end)
            return o;
    }
    struct place place = {.address = address};
    (void)dl_iterate_phdr(look, &place);
    size_t length = strlen(place.path);
    struct object *o = place.found ? calloc(1, sizeof *o + length + 1) : NULL;
    if (!o)
        return NULL;
    o->base = place.base;
    o->start = place.start;
    o->end = place.end;
    memcpy(o->path, place.path, length + 1);
    read_symbols(o);
    o->next = objects;
    objects = o;
    return o;
}

/* Cuts a name that is too long, not inside a character, and ends it in a hash of the whole. */
SP__PLAIN static void shorten(const char *name, char ret[SP_MAX_NAME + 1])
{
    size_t length = strlen(name);
    if (length <= SP_MAX_NAME) {
        memcpy(ret, name, length + 1);
        return;
    }
    uint64_t hash = 0xcbf29ce484222325U; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3U;
    size_t kept = SP_MAX_NAME - 17;
    while (kept > 0 && ((unsigned char)name[kept] & 0xc0) == 0x80)
        kept--;
    memcpy(ret, name, kept);
    (void)snprintf(ret + kept, SP_MAX_NAME + 1 - kept, "~%016" PRIx64, hash);
}

/* Compilers name parts and copies of a function "function.part.0". No language has the dot in a name of its own. */
SP__PLAIN static void tidy(const char *symbol, char ret[SP_MAX_NAME + 1])
{
    const char *dot = symbol[0] ? strchr(symbol + 1, '.') : NULL;
    char *whole = dot ? strndup(symbol, (size_t)(dot - symbol)) : NULL;
    const char *mangled = whole ? whole : symbol;
    char *demangled = NULL;
    int status = 0;
    if (__cxa_demangle && strncmp(mangled, "_Z", 2) == 0)
        demangled = __cxa_demangle(mangled, NULL, NULL, &status);
    shorten(demangled ? demangled : mangled, ret);
    free(demangled);
    free(whole);
}

SP__PLAIN void sp__function_name(const void *function, char ret[SP_MAX_NAME + 1])
{
    char program[SP__PATH_SIZE];
    struct object *o = object_of(function);
    const char *symbol = o ? symbol_of(o, function) : NULL;
    if (symbol && *symbol) {
        tidy(symbol, ret);
        return;
    }
    const char *path = o ? o->path : "?";
    if (o && !*path) {
        ssize_t length = readlink(file_of(o), program, sizeof program - 1);
        program[length > 0 ? length : 0] = '\0';
        path = program;
    }
    (void)snprintf(ret, SP_MAX_NAME + 1, "%.900s+0x%" PRIxPTR, sp__base_name(path),
                   (uintptr_t)function - (o ? o->base : 0));
}
