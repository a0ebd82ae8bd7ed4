/* scope_profiler.hpp: scopes that end their call however they are left. Header only, over scope_profiler.h: link with
 * -lsp. C++11 to C++20, with and without exceptions and RTTI. This header is the manual.
 *
 *     sp_init("solver", SP_RANK_AUTO);
 *     void Solver::step(const Matrix &m)
 *     {
 *         SP_PROFILE_FUNCTION();
 *         for (const Row &row : m) {
 *             SP_PROFILE_SCOPE("row");
 *             ...                              // return, break and throw end the call too
 *         }
 *         SP_PROFILE_SCOPE("kernel " + kernel.name());
 *         ...
 *     }
 *     sp_finalize();
 *
 * Macros. Each is one declaration: a call begins there and ends with the enclosing block. Two do not fit on one line.
 *   SP_PROFILE_SCOPE(name)              in the default profiler
 *   SP_PROFILE_SCOPE_CTX(p, name)       in an sp_profiler *, which is evaluated once; NULL records nothing
 *   SP_PROFILE_FUNCTION(), SP_PROFILE_FUNCTION_CTX(p)
 *                                       named as the compiler calls the function (__PRETTY_FUNCTION__); where that is
 *                                       longer than SP_MAX_NAME its end gives way to "~" and 16 hex digits of a hash
 *
 * A name is any expression that gives a const char *, or an object with c_str(), or with data() and size()
 * (std::string, std::string_view, ...). It is evaluated each time and used before the macro ends, so temporaries are
 * fine, and it may give another name the next time.
 *
 * What a call costs. Where the macro's argument, after macro expansion, consists of nothing but ordinary string
 * literals ("a", "a" "b", u8"a"; parentheses may stand around them), or is the function's name, the handle is
 * remembered at that place in the source, together with the profiler's generation: one look-up for each profiler's
 * life, and some nanoseconds over sp_begin and sp_end. Everything else (variables, arrays, conditions, std::string, raw
 * strings, "a" + i) may change and is looked up each time, some tens of nanoseconds. Remembering one literal that meets
 * two profilers in turn costs a look-up at each change.
 *
 * Classes. sp::Scope begins a call of a region that was registered before, and is what to move into containers and out
 * of functions; sp::ProfileScope is what the macros declare.
 *
 * What holds for all of it:
 *   - Nothing here throws or crashes: without a running profiler, with a bad name or handle, a scope is empty. Scopes
 *     may begin before sp_init or outlive sp_finalize, sp_destroy and a second sp_init: then they end nothing.
 *   - A scope ends exactly its own call (sp_scope_end), in the thread that began it, and while no later call of the
 *     same region is open in that thread. One that is moved to another thread, or ends earlier than such a later one (a
 *     vector destroys its first element first), leaves its call open.
 *   - Any thread may run the same macro at any time. errno is left alone. Not async-signal-safe.
 *
 * -DSP_DISABLE_PROFILING: the macros evaluate nothing, and the classes are empty; no function of libsp is called or
 * needed by them. Files compiled with and without it may be linked together as long as none hands the other a scope; of
 * an inline function with a macro in it, which both compile, the linker takes either. */
#ifndef SCOPE_PROFILER_HPP
#define SCOPE_PROFILER_HPP

#ifdef SP_HEADER_ONLY
#error "SP_HEADER_ONLY: there is no recorder in a header; remove the macro and link with -lsp"
#endif
#ifdef SP_USE_LIKWID
#error "SP_USE_LIKWID: this library reads no hardware counters; remove the macro, or run likwid-perfctr beside it"
#endif

#include "scope_profiler.h"

namespace sp
{

/* What programs for hardware counters declare; does nothing. */
class LikwidSession
{
  public:
    LikwidSession() noexcept
    {
    }
    ~LikwidSession()
    {
    }
    LikwidSession(const LikwidSession &) = delete;
    LikwidSession &operator=(const LikwidSession &) = delete;
};

/* Does nothing. */
inline void likwid_thread_init() noexcept
{
}

} // namespace sp

#ifdef SP_DISABLE_PROFILING

namespace sp
{
/* A namespace of its own: the linker must not take these for those of a file that records. Always inlined, so that no
 * symbol is left of them either. */
inline namespace disabled
{

class Scope
{
  public:
    __attribute__((always_inline)) Scope(sp_profiler *, int) noexcept
    {
    }
    __attribute__((always_inline)) explicit Scope(int) noexcept
    {
    }
    __attribute__((always_inline)) ~Scope()
    {
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    __attribute__((always_inline)) Scope(Scope &&) noexcept
    {
    }
    __attribute__((always_inline)) Scope &operator=(Scope &&) noexcept
    {
        return *this;
    }
};

class ProfileScope
{
  public:
    template <class Name> __attribute__((always_inline)) ProfileScope(const Name &, const char *, int) noexcept
    {
    }
    template <class Name>
    __attribute__((always_inline)) ProfileScope(sp_profiler *, const Name &, const char *, int) noexcept
    {
    }
    __attribute__((always_inline)) ~ProfileScope()
    {
    }
    ProfileScope(const ProfileScope &) = delete;
    ProfileScope &operator=(const ProfileScope &) = delete;
};

} // namespace disabled
} // namespace sp

#define SP_PROFILE_SCOPE(...)      static_cast<void>(0)
#define SP_PROFILE_SCOPE_CTX(...)  static_cast<void>(0)
#define SP_PROFILE_FUNCTION()      static_cast<void>(0)
#define SP_PROFILE_FUNCTION_CTX(p) static_cast<void>(0)

#else

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace sp
{
inline namespace recording
{

/* One call; move-only. */
class Scope
{
  public:
    /* Begins a call of a region of `profiler`; NULL, an inactive one and a handle that is none give an empty scope. */
    Scope(sp_profiler *profiler, int region) noexcept : scope_(sp_profiler_scope_begin(profiler, region))
    {
    }

    /* The same in the default profiler. */
    explicit Scope(int region) noexcept : Scope(sp_default_profiler(), region)
    {
    }

    ~Scope()
    {
        end();
    }

    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

    /* `other` is empty afterwards. */
    Scope(Scope &&other) noexcept : scope_(other.scope_)
    {
        other.scope_.slot = -1;
    }

    /* Ends the call that this scope had, now. */
    Scope &operator=(Scope &&other) noexcept
    {
        if (this != &other) {
            end();
            scope_ = other.scope_;
            other.scope_.slot = -1;
        }
        return *this;
    }

  private:
    void end() noexcept
    {
        if (scope_.slot != -1)
            sp_scope_end(&scope_);
    }

    sp_scope scope_;
};

namespace detail
{

/* What a macro remembers at its place: the generation in the upper half, the handle in the lower. One word, so that no
 * thread sees the handle of one with the generation of another. Generations of all profilers differ and none is 0. */
struct Site {
    std::atomic<unsigned long long> word;
};

/* Whether a macro's argument, as it is written, is nothing but string literals: then its value cannot change. */
inline bool is_literal(const char *written) noexcept
{
    bool quoted = false;
    for (;; written++) {
        while (*written == ' ' || *written == '(' || *written == ')')
            written++;
        if (!*written)
            return quoted;
        if (std::strncmp(written, "u8\"", 3) == 0)
            written += 2;
        if (*written != '"')
            return false;
        for (written++; *written != '"'; written++)
            written += *written == '\\';
        quoted = true;
    }
}

/* Looks a name up. -1: none, or not to be had. */
inline int look_up(sp_profiler *p, const char *name, const char *file, int line, long) noexcept
{
    return sp_profiler_region_at(p, name, file, line);
}

#ifdef __cpp_char8_t
inline int look_up(sp_profiler *p, const char8_t *name, const char *file, int line, long) noexcept
{
    return sp_profiler_region_at(p, reinterpret_cast<const char *>(name), file, line);
}
#endif

template <class Name>
auto look_up(sp_profiler *p, const Name &name, const char *file, int line, int) noexcept
    -> decltype(sp_profiler_region_at(p, name.c_str(), file, line))
{
    return sp_profiler_region_at(p, name.c_str(), file, line);
}

/* A view need not end in a NUL. One byte too many is enough for the library to refuse a name that is too long. */
inline int look_up_bytes(sp_profiler *p, const char *bytes, std::size_t size, const char *file, int line) noexcept
{
    char name[SP_MAX_NAME + 2];
    size = size <= SP_MAX_NAME ? size : SP_MAX_NAME + 1;
    if (size > 0)
        std::memcpy(name, bytes, size);
    name[size] = '\0';
    return sp_profiler_region_at(p, name, file, line);
}

template <class Name>
auto look_up(sp_profiler *p, const Name &name, const char *file, int line, long) noexcept
    -> decltype(look_up_bytes(p, name.data(), name.size(), file, line))
{
    return look_up_bytes(p, name.data(), name.size(), file, line);
}

/* A function's name. Any length: shortened to SP_MAX_NAME bytes, never inside a character. */
struct Function {
    const char *name;
};

inline int look_up(sp_profiler *p, const Function &function, const char *file, int line, int) noexcept
{
    char copy[SP_MAX_NAME + 1];
    std::size_t size = std::strlen(function.name), kept = SP_MAX_NAME - 17;
    if (size <= SP_MAX_NAME)
        return sp_profiler_region_at(p, function.name, file, line);
    unsigned long long hash = 0xcbf29ce484222325ULL; /* FNV-1a */
    for (std::size_t i = 0; i < size; i++)
        hash = (hash ^ static_cast<unsigned char>(function.name[i])) * 0x100000001b3ULL;
    while (kept > 0 && (static_cast<unsigned char>(function.name[kept]) & 0xc0) == 0x80)
        kept--;
    std::memcpy(copy, function.name, kept);
    static_cast<void>(std::snprintf(copy + kept, sizeof copy - kept, "~%016llx", hash));
    return sp_profiler_region_at(p, copy, file, line);
}

/* The way of a name that is not remembered, or not any more. Out of line: it would only be in the other one's way. The
 * generation was read before the look-up, so that an init in between makes the remembered handle a stale one. */
template <class Name>
__attribute__((noinline, cold)) int find(Site &site, unsigned generation, sp_profiler *p, const char *written,
                                         const Name &name, const char *file, int line) noexcept
{
    if (!sp_profiler_is_active(p))
        return SP_INVALID_REGION;
    int region = look_up(p, name, file, line, 0);
    if (region >= 0 && is_literal(written))
        site.word.store(static_cast<unsigned long long>(generation) << 32 | static_cast<unsigned>(region),
                        std::memory_order_relaxed);
    return region;
}

template <class Name>
int region_of(Site &site, sp_profiler *p, const char *written, const Name &name, const char *file, int line) noexcept
{
    unsigned generation = sp_profiler_generation(p);
    unsigned long long word = site.word.load(std::memory_order_relaxed);
    if (word >> 32 == generation && generation != 0)
        return static_cast<int>(word & 0xffffffffU);
    return find(site, generation, p, written, name, file, line);
}

} // namespace detail

/* What the macros declare; neither copied nor moved. */
class ProfileScope
{
  public:
    /* Looks `name` up (as the macros' names) in the default profiler, and begins a call. `file` NULL: no location. */
    template <class Name>
    ProfileScope(const Name &name, const char *file, int line) noexcept
        : ProfileScope(sp_default_profiler(), name, file, line)
    {
    }

    template <class Name>
    ProfileScope(sp_profiler *profiler, const Name &name, const char *file, int line) noexcept
        : scope_(profiler, detail::look_up(profiler, name, file, line, 0))
    {
    }

    /* For the macros. */
    template <class Name>
    ProfileScope(detail::Site &site, sp_profiler *profiler, const char *written, const char *file, int line,
                 const Name &name) noexcept
        : scope_(profiler, detail::region_of(site, profiler, written, name, file, line))
    {
    }

    ProfileScope(const ProfileScope &) = delete;
    ProfileScope &operator=(const ProfileScope &) = delete;

  private:
    Scope scope_;
};

} // namespace recording
} // namespace sp

#define SP_DETAIL_JOIN_(a, b) a##b
#define SP_DETAIL_JOIN(a, b)  SP_DETAIL_JOIN_(a, b)
  /* The site is static in a lambda, so that all of a macro is one declaration. Of a template each instance has its own.
 * It is named by the line: a counter would differ between files that share an inline function. */
#define SP_DETAIL_SCOPE(profiler, written, ...)                                                                        \
    ::sp::ProfileScope SP_DETAIL_JOIN(sp_profile_scope_, __LINE__)(                                                    \
        []() noexcept -> ::sp::detail::Site & {                                                                        \
            static ::sp::detail::Site site = {{0}};                                                                    \
            return site;                                                                                               \
        }(),                                                                                                           \
        profiler, written, __FILE__, __LINE__, __VA_ARGS__)
  /* One step more, so that what a macro stands for is written down, not its name. */
#define SP_DETAIL_NAMED(profiler, ...) SP_DETAIL_SCOPE(profiler, #__VA_ARGS__, __VA_ARGS__)

#define SP_PROFILE_SCOPE(...)        SP_DETAIL_NAMED(sp_default_profiler(), __VA_ARGS__)
#define SP_PROFILE_SCOPE_CTX(p, ...) SP_DETAIL_NAMED((p), __VA_ARGS__)
#define SP_PROFILE_FUNCTION()        SP_PROFILE_FUNCTION_CTX(sp_default_profiler())
#define SP_PROFILE_FUNCTION_CTX(p)   SP_DETAIL_SCOPE((p), "\"\"", ::sp::detail::Function{__PRETTY_FUNCTION__})

#endif

#endif
