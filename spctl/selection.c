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

/* Billionths of a number with up to nine decimals; what follows it is returned; NULL: it is none. */
static const char *decimal(const char *text, uint64_t *ret)
{
    uint64_t whole = 0, part = 0, scale = 1000000000;
    const char *at = number(text, INT64_MAX / 1000000000 - 1, &whole);
    if (at && *at == '.') {
        const char *digits = at + 1;
        at = number(digits, 999999999, &part);
        for (const char *digit = digits; at && digit < at; ++digit)
            scale /= 10;
    }
    *ret = whole * 1000000000 + part * scale;
    return scale ? at : NULL;
}

bool seconds_parse(const char *text, int64_t *ret_ns)
{
    uint64_t ns;
    const char *at = decimal(text, &ns);
    if (!at || *at) {
        say("%s: wanted are seconds of the run, with up to nine decimals, as in 1.5", text);
        return false;
    }
    *ret_ns = (int64_t)ns;
    return true;
}

bool count_parse(const char *option, const char *text, size_t *ret)
{
    uint64_t value;
    const char *at = number(text, UINT32_MAX, &value);
    if (!at || *at || value == 0) {
        say("%s %s: wanted is a number from 1 on", option, text);
        return false;
    }
    *ret = (size_t)value;
    return true;
}

bool percent_parse(const char *option, const char *text, double *ret)
{
    uint64_t value = 0;
    const char *at = decimal(text, &value);
    if (at && !*at && value >= 1000000000) {
        say("%s %s: this would be %.12g %%; say %s%% if that is meant", option, text, (double)value / 1e7, text);
        return false;
    }
    if (!at || (*at && strcmp(at, "%") != 0)) {
        say("%s %s: wanted is a share, as 5%% or 0.05", option, text);
        return false;
    }
    *ret = (double)value / (*at ? 1e9 : 1e7);
    return true;
}

bool duration_parse(const char *option, const char *text, int64_t *ret)
{
    static const struct {
        const char *name;
        uint64_t part; /* of a second */
    } units[] = {{"s", 1},          {"ms", 1000}, {"us", 1000000}, {"\xc2\xb5s", 1000000}, {"\xce\xbcs", 1000000},
                 {"ns", 1000000000}};
    uint64_t value = 0;
    const char *at = decimal(text, &value);
    for (size_t i = 0; at && i < sizeof units / sizeof *units; ++i)
        if (strcmp(at, units[i].name) == 0) {
            *ret = (int64_t)(value / units[i].part);
            return true;
        }
    say("%s %s: wanted is a time with its unit, as 1.5s, 10ms, 20us or 100ns", option, text);
    return false;
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

bool selection_read(struct selection_options *selection)
{
    sp_selection *wanted = &selection->wanted;
    const char *from = selection->from, *to = selection->to;
    *wanted = sp_selection_default();
    if ((from && !seconds_parse(from, &wanted->from_ns)) || (to && !seconds_parse(to, &wanted->to_ns)))
        return false;
    if (to && wanted->to_ns <= (from ? wanted->from_ns : 0)) {
        say("--to %s: no call begins before that and not before %s; --to must be later", to, from ? from : "0");
        return false;
    }
    if (selection->ranks && !ranks_parse(selection->ranks, &selection->pairs, &wanted->rank_count))
        return false;
    wanted->ranks = (const uint32_t(*)[2])selection->pairs;
    wanted->regions = selection->regions.given;
    wanted->region_count = selection->regions.count;
    return true;
}

bool selection_narrow(const struct selection_options *selection, sp_inputs *inputs, int *ret_end)
{
    sp_error error = {0};
    if (!selection->ranks && !selection->regions.count && !selection->from && !selection->to)
        return true;
    int status = sp_inputs_select(inputs, &selection->wanted, &error);
    if (status < 0) {
        say("%s", error.text);
        *ret_end = status == SP_ERR_USAGE ? END_USAGE : END_FAILED;
    }
    return status == 0;
}

void selection_finish(struct selection_options *selection)
{
    free(selection->pairs);
    free(selection->regions.given);
    selection->pairs = NULL;
    selection->regions = (struct values){0};
}
