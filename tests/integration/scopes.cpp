// Scopes and macros of scope_profiler.hpp in a real program. It is linked with --wrap=sp_profiler_region_at, so that
// look-ups are counted on their way into the library. The script reads the counts of the last profile from its file.
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 201703L
#include <string_view>
#endif

#include "scope_profiler.hpp"
#include "scopes.hpp"

int faults;
static std::atomic<int> look_ups;

extern "C" int __real_sp_profiler_region_at(sp_profiler *p, const char *name, const char *file, int line);
extern "C" int __wrap_sp_profiler_region_at(sp_profiler *p, const char *name, const char *file, int line);

int __wrap_sp_profiler_region_at(sp_profiler *p, const char *name, const char *file, int line)
{
    look_ups++;
    return __real_sp_profiler_region_at(p, name, file, line);
}

static_assert(!std::is_copy_constructible<sp::Scope>::value && !std::is_copy_assignable<sp::Scope>::value, "copies");
static_assert(std::is_nothrow_move_constructible<sp::Scope>::value, "a move may throw");
static_assert(std::is_nothrow_move_assignable<sp::Scope>::value, "a move assignment may throw");
static_assert(std::is_nothrow_constructible<sp::Scope, sp_profiler *, int>::value, "Scope(p, id) may throw");
static_assert(std::is_nothrow_constructible<sp::Scope, int>::value, "Scope(id) may throw");
static_assert(!std::is_convertible<int, sp::Scope>::value, "Scope(id) is not explicit");
static_assert(!std::is_move_constructible<sp::ProfileScope>::value, "ProfileScope moves");

static long long calls_in(sp_profiler *p, const char *name)
{
    sp_region_stats stats;
    for (int i = 0; i < sp_profiler_num_regions(p); i++)
        if (std::strcmp(sp_profiler_region_name(p, i), name) == 0)
            return sp_profiler_get_region_stats(p, i, &stats) == 0 ? stats.calls : -2;
    return -1;
}

static long long calls(const char *name)
{
    return calls_in(sp_default_profiler(), name);
}

static bool nothing_open()
{
    return sp_profiler_end_last(sp_default_profiler()) == SP_ERR_UNMATCHED_END;
}

static void init(const char *prefix)
{
    need(sp_init(prefix, 0) == 0, prefix);
    look_ups = 0;
}

// The same places in the source before sp_init, in the first profiler and in the second, where all handles differ.
#define NAMED_BY_MACRO                                                                                                 \
    "literal "                                                                                                         \
    "by macro"

static void literals(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        SP_PROFILE_SCOPE("literal");
        SP_PROFILE_SCOPE(NAMED_BY_MACRO);
        SP_PROFILE_SCOPE(("literal, \"quoted\" (\\)"));
        SP_PROFILE_FUNCTION();
        if (rounds > 0)
            SP_PROFILE_SCOPE("literal in an if");
    }
}

static void test_literals()
{
    look_ups = 0;
    literals(10);
    need(look_ups == 0, "names are looked up before sp_init");
    init("first");
    literals(1000);
    need(look_ups == 5, "a literal is looked up more than once");
    need(calls("literal") == 1000 && calls("literal by macro") == 1000 && calls("literal in an if") == 1000,
         "literals");
    need(calls("literal, \"quoted\" (\\)") == 1000 && calls("void literals(int)") == 1000,
         "quotes; the function's name");
    init("second");
    for (int i = 0; i < 10; i++)
        sp_region(std::to_string(i).c_str());
    literals(100);
    need(look_ups == 5, "a literal is not looked up once in the second profiler");
    need(calls("literal") == 100 && calls("void literals(int)") == 100 && calls("0") == 0,
         "the second profiler's literals");
}

static void test_names_that_change()
{
    char array[] = "array 0";
    const char array_of_const[] = "constant array";
    const char *pointer[] = {"pointer 0", "pointer 1"};
    std::string string = "string ";
    for (int i = 0; i < 100; i++) {
        array[6] = static_cast<char>('0' + i % 2);
        SP_PROFILE_SCOPE(array);
        SP_PROFILE_SCOPE(array_of_const);
        SP_PROFILE_SCOPE(pointer[i % 2]);
        SP_PROFILE_SCOPE(string + std::to_string(i % 2));
        SP_PROFILE_SCOPE("quoted " + std::to_string(i % 2));
        SP_PROFILE_SCOPE(&"xquoted and moved"[1 + i % 2]);
        SP_PROFILE_SCOPE(i % 2 ? "odd" : "even");
        SP_PROFILE_SCOPE("odd"[i % 2] == 'o' ? "o of odd" : "d of odd");
        SP_PROFILE_SCOPE(std::pair<const char *, int>("in a pair", 0).first);
        SP_PROFILE_SCOPE(__func__);
    }
    need(calls("array 0") == 50 && calls("array 1") == 50, "an array that changes is taken for a literal");
    need(calls("constant array") == 100, "a constant array");
    need(calls("pointer 0") == 50 && calls("pointer 1") == 50, "a pointer that changes");
    need(calls("string 0") == 50 && calls("string 1") == 50, "std::string");
    need(calls("quoted 0") == 50 && calls("quoted 1") == 50, "an expression that starts with a literal");
    need(calls("quoted and moved") == 50 && calls("uoted and moved") == 50, "a pointer into a literal");
    need(calls("even") == 50 && calls("odd") == 50 && calls("o of odd") == 50 && calls("d of odd") == 50, "conditions");
    need(calls("in a pair") == 100 && calls(__func__ - 0 ? "test_names_that_change" : "") == 100, "commas; __func__");
}

static void test_views_and_bad_names()
{
    std::string longest(SP_MAX_NAME, 'x'), too_long(SP_MAX_NAME + 1, 'x');
    int before = sp_profiler_num_regions(sp_default_profiler());
    const char *none = nullptr;
    {
        SP_PROFILE_SCOPE(none);
        SP_PROFILE_SCOPE(too_long);
        sp::Scope bad(-1), worse(4711), nobody(nullptr, 0);
        SP_PROFILE_SCOPE_CTX(static_cast<sp_profiler *>(nullptr), "nobody's");
    }
    need(sp_profiler_num_regions(sp_default_profiler()) == before && nothing_open(), "bad names or handles record");
    SP_PROFILE_SCOPE(longest);
    need(sp_profiler_num_regions(sp_default_profiler()) == before + 1, "a name of SP_MAX_NAME bytes is refused");
#if __cplusplus >= 201703L
    std::string_view view("a view of ten", 6);
    {
        SP_PROFILE_SCOPE(view);
        SP_PROFILE_SCOPE(std::string_view(too_long));
        SP_PROFILE_SCOPE(std::string_view());
    }
    need(calls("a view") == 1 && calls("") == 1, "std::string_view");
    need(sp_profiler_num_regions(sp_default_profiler()) == before + 3, "a view that is too long is cut");
#endif
}

template <int N, class... Types> static void long_name()
{
    SP_PROFILE_FUNCTION();
}

struct A_class_whose_name_makes_the_name_of_a_function_template_rather_long_in_a_test_of_what_is_too_long {
};

template <int N> static void longer_name()
{
    using A = A_class_whose_name_makes_the_name_of_a_function_template_rather_long_in_a_test_of_what_is_too_long;
    long_name<0, A, A, A, A, A, A, A, A, A, A, A[N]>();
}

static void test_function_names()
{
    sp_profiler *p = sp_default_profiler();
    int before = sp_profiler_num_regions(p);
    for (int i = 0; i < 10; i++) {
        longer_name<1>();
        longer_name<2>();
    }
    need(sp_profiler_num_regions(p) == before + 2, "two functions with long names are not two regions");
    for (int i = before; i < sp_profiler_num_regions(p); i++) {
        const char *name = sp_profiler_region_name(p, i);
        need(std::strlen(name) == SP_MAX_NAME && name[SP_MAX_NAME - 17] == '~', "a long name is not shortened");
        need(calls(name) == 10, "ten calls of a long name");
    }
}

static void in_context(sp_profiler *p)
{
    SP_PROFILE_SCOPE_CTX(p, "context");
    SP_PROFILE_FUNCTION_CTX(p);
}

static void test_contexts()
{
    sp_profiler *a = sp_create("a", 0), *b = sp_create("b", 0);
    need(a && b, "sp_create");
    sp_profiler_region(b, "first in b");
    in_context(a);
    look_ups = 0;
    for (int i = 0; i < 100; i++)
        in_context(a);
    need(look_ups == 0, "a literal in a profiler is looked up again");
    for (int i = 0; i < 100; i++)
        in_context(i % 2 ? a : b);
    need(calls_in(a, "context") == 151 && calls_in(b, "context") == 50, "two profilers in turn");
    need(calls_in(b, "first in b") == 0 &&
             calls_in(b, "void in_context(sp_profiler*)") + calls_in(b, "void in_context(sp_profiler *)") == 49,
         "handles of one profiler in another");
    sp_destroy(a);
    in_context(a); // nothing
    sp_profiler *again = sp_create("again", 0);
    need(again == a, "a second life in the same place is not what this test meets");
    for (int i = 0; i < 3; i++)
        sp_profiler_region(again, i == 0 ? "x" : i == 1 ? "y" : "z");
    for (int i = 0; i < 7; i++)
        in_context(again);
    need(calls_in(again, "context") == 7 && calls_in(again, "x") == 0, "handles of an earlier life");
    sp_destroy(b);
    sp_destroy(again);
}

static sp::Scope begun(int region)
{
    return sp::Scope(region);
}

static void test_moves()
{
    int one = sp_region("moved one"), two = sp_region("moved two");
    {
        sp::Scope a(one);
        sp::Scope b(std::move(a));
        sp::Scope c = begun(two);
        need(calls("moved one") == 0 && calls("moved two") == 0, "a move ends a call");
        b = std::move(c);
        need(calls("moved one") == 1 && calls("moved two") == 0, "a move assignment does not end the old call");
        sp::Scope &self = b;
        b = std::move(self);
        need(calls("moved two") == 0, "an assignment to itself ends the call");
        std::vector<sp::Scope> many;
        many.push_back(std::move(b));
        for (int i = 0; i < 99; i++)
            many.emplace_back(sp_default_profiler(), one);
        std::swap(many[98], many[99]);
        std::swap(many[98], many[99]);
        need(calls("moved one") == 1 && calls("moved two") == 0, "a vector ends calls");
        while (!many.empty())
            many.pop_back();
    }
    need(calls("moved one") == 100 && calls("moved two") == 1 && nothing_open(), "moved scopes");
}

static void test_early_ends()
{
    int region = sp_region("ended by another");
    {
        sp::Scope outer(region);
        sp_end(region);
        sp_begin(region);
    } // must not end the later one
    need(sp_profiler_end_last(sp_default_profiler()) == 0 && nothing_open(), "a scope ends another call of its region");
}

#ifdef __cpp_exceptions
static void thrower(int depth)
{
    SP_PROFILE_SCOPE("thrown through");
    sp::Scope scope(sp_region("thrown through, too"));
    if (depth == 0)
        throw depth;
    thrower(depth - 1);
}

static void test_exceptions()
{
    for (int i = 0; i < 10; i++) {
        try {
            thrower(9);
        } catch (int) {
            need(nothing_open(), "an exception leaves calls open");
        }
    }
    need(calls("thrown through") == 100 && calls("thrown through, too") == 100, "calls that ended by an exception");
}
#endif

static void test_threads()
{
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    init("threads");
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&ready] {
            for (ready++; ready < 4;)
                std::this_thread::yield();
            for (int i = 0; i < 5000; i++) {
                SP_PROFILE_SCOPE("four threads, one place");
                SP_PROFILE_SCOPE(i % 2 ? "four threads, odd" : "four threads, even");
            }
        });
    for (std::thread &t : threads)
        t.join();
    need(calls("four threads, one place") == 20000 && calls("four threads, odd") == 10000, "calls of four threads");
}

// A scope that begins before main and before sp_init, one that outlives two profilers.
struct Global {
    Global()
    {
        SP_PROFILE_SCOPE("before main");
    }
    ~Global()
    {
        SP_PROFILE_SCOPE("after main");
    }
};
static Global global;
static sp::Scope static_scope(0);

static void test_outliving()
{
    init("to be discarded");
    {
        SP_PROFILE_SCOPE("outlives a profiler");
        sp::Scope scope(sp_region("outlives a profiler, too"));
        init("scopes");
        SP_PROFILE_SCOPE("in the new one");
        sp_begin(sp_region("x"));
        sp_end(sp_region("x"));
    }
    need(calls("in the new one") == 1 && calls("x") == 1 && calls("outlives a profiler") == -1,
         "a scope ends a new profiler's call");
    need(nothing_open(), "calls are open after a second sp_init");
}

int main()
{
    test_literals();
    test_names_that_change();
    test_views_and_bad_names();
    test_function_names();
    test_contexts();
    test_moves();
    test_early_ends();
#ifdef __cpp_exceptions
    test_exceptions();
#endif
    test_threads();
    test_outliving();
    literals(70);
    need(off_calls(10) == 10 && calls("off") == -1, "a file with SP_DISABLE_PROFILING records");
    static_scope = sp::Scope(sp_region("in a static variable"));
    {
        SP_PROFILE_SCOPE("around sp_finalize");
        need(sp_finalize() == 0, "sp_finalize");
    }
    literals(10);
    need(calls("literal") == 70, "literals after sp_finalize");
    return faults != 0;
}
