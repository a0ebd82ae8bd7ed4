#include "selection.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

/* Digits up to what cannot be one, as a number of at most `most`; NULL: there are none, or too many. */
static const char *number(const char *text, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; ++at) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > most)
            return NULL;
    }
    *ret = value;
    return at == text ? NULL : at;
}

bool ranks_parse(const char *text, uint32_t (**ret)[2], size_t *ret_count)
{
    uint32_t(*pairs)[2] = NULL;
    size_t count = 0;
    for (const char *at = text; at; ++at) {
        uint64_t first, last;
        at = number(at, UINT32_MAX, &first);
        last = first;
        if (at && *at == '-')
            at = number(at + 1, UINT32_MAX, &last);
        if (!at || (*at && *at != ',') || last < first)
            break;
        pairs = need(realloc(pairs, (count + 1) * sizeof *pairs));
        pairs[count][0] = (uint32_t)first;
        pairs[count++][1] = (uint32_t)last;
        if (!*at) {
            *ret = pairs;
            *ret_count = count;
            return true;
        }
    }
    free(pairs);
    say("--ranks %s: wanted are numbers and ranges that ascend, as in 0-7,12", text);
    return false;
}

bool seconds_parse(const char *text, int64_t *ret_ns)
{
    uint64_t whole = 0, part = 0, scale = 1000000000;
    const char *at = number(text, INT64_MAX / 1000000000 - 1, &whole);
    if (at && *at == '.') {
        const char *digits = at + 1;
        at = number(digits, 999999999, &part);
        for (const char *digit = digits; at && digit < at; ++digit)
            scale /= 10;
    }
    if (!at || *at || !scale) {
        say("%s: wanted are seconds of the run, with up to nine decimals, as in 1.5", text);
        return false;
    }
    *ret_ns = (int64_t)(whole * 1000000000 + part * scale);
    return true;
}

bool schema_parse(const char *text, int *ret)
{
    if (strcmp(text, "2") != 0 && strcmp(text, "3") != 0) {
        say("--schema %s: there are 2, which all readers know, and 3, which is smaller", text);
        return false;
    }
    *ret = *text - '0';
    return true;
}

bool compress_parse(const char *text, int *ret)
{
    enum { USUAL = 4 };
    static const char gzip[] = "gzip";
    if (strcmp(text, "none") == 0)
        *ret = 0;
    else if (strcmp(text, gzip) == 0)
        *ret = USUAL;
    else if (strncmp(text, gzip, 4) == 0 && text[4] == ':' && text[5] >= '1' && text[5] <= '9' && !text[6])
        *ret = text[5] - '0';
    else {
        say("--compress %s: wanted is none, gzip, or gzip:1 (fast) to gzip:9 (small)", text);
        return false;
    }
    return true;
}
