/* json.h: what --json prints. */
#ifndef SPCTL_JSON_H
#define SPCTL_JSON_H

#include <jansson.h>
#include <stdint.h>

/* A string; bytes that are not UTF-8 become U+FFFD. */
json_t *json_text(const char *s);
json_t *json_count(uint64_t n);

/* json_object_set_new that ends the program where memory is short. Both return the new member, which the
 * object or array owns. */
json_t *json_put(json_t *object, const char *key, json_t *value);
json_t *json_push(json_t *array, json_t *value);

/* How it is printed: no more digits than a double has. */
#define JSON_FORMAT JSON_REAL_PRECISION(12)

/* An object with "version": 1. */
json_t *json_document(void);

/* Prints on stdout and frees; the second on one line, at once. */
void json_print(json_t *document);
void json_print_line(json_t *document);

#endif
