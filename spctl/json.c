#include "json.h"

#include <stdio.h>
#include <stdlib.h>

#include "say.h"
#include "text.h"

json_t *json_text(const char *s)
{
    json_t *ret = json_string(s);
    if (ret)
        return ret;
    char *mended = need(text_utf8(s));
    ret = json_string(mended);
    free(mended);
    return need(ret);
}

json_t *json_count(uint64_t n)
{
    return need(json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n));
}

json_t *json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, need(value)) != 0)
        need(NULL);
    return value;
}

json_t *json_push(json_t *array, json_t *value)
{
    if (json_array_append_new(array, need(value)) != 0)
        need(NULL);
    return value;
}

json_t *json_document(void)
{
    json_t *document = need(json_object());
    json_put(document, "version", json_count(1));
    return document;
}

void json_print(json_t *document)
{
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_FORMAT);
    putchar('\n');
    json_decref(document);
}

void json_print_line(json_t *document)
{
    json_dumpf(document, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
    putchar('\n');
    fflush(stdout);
    json_decref(document);
}
