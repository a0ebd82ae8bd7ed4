/* languages.h: pairs of one region from other languages than C. */
#ifndef LANGUAGES_H
#define LANGUAGES_H

#ifdef __cplusplus
extern "C" {
#endif

void fortran_pairs(int pairs, int region);
void fortran_pairs_stat(int pairs, int region);
void cpp_scopes(int pairs, int region);
void cpp_literals(int pairs, int region);
void cpp_functions(int pairs, int region);
void cpp_strings(int pairs, int region);

#ifdef __cplusplus
}
#endif

#endif
