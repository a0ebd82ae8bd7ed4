// Methods, templates, lambdas, exceptions over functions with and without something to destroy, and a name that is
// longer than a name may be. What is called how often is counted in cpp.sh.
#include <cstdio>
#include <stdexcept>
#include <string>

namespace solver
{
struct Grid {
    int cells;
    explicit Grid(int n) : cells(n)
    {
    }
    ~Grid()
    {
        cells = 0;
    }
    void step() const;
};

__attribute__((noinline)) void fail()
{
    throw std::runtime_error("no");
}

__attribute__((noinline)) void guarded()
{
    Grid grid(3);
    fail();
}

__attribute__((noinline)) void Grid::step() const
{
    try {
        guarded();
    } catch (const std::exception &) {
    }
}

template <class T> __attribute__((noinline)) T twice(T value)
{
    return value + value;
}

template <int N> struct Long {
    typename Long<N - 1>::type inner;
    using type = Long;
};
template <> struct Long<0> {
    using type = Long;
};
template <class A, class B> struct Pair {
};
template <int N> struct Tree {
    using type = Pair<typename Tree<N - 1>::type, typename Tree<N - 1>::type>;
};
template <> struct Tree<0> {
    using type = Long<0>;
};
template <class T> __attribute__((noinline)) void long_name(T *)
{
}
} // namespace solver

int main()
{
    solver::Grid grid(2);
    for (int i = 0; i < 50; i++)
        grid.step();
    auto lambda = [](int n) { return solver::twice(n); };
    int sum = lambda(1) + lambda(2) + solver::twice(3);
    for (int i = 0; i < 5; i++) {
        try {
            solver::guarded();
        } catch (const std::exception &) {
        }
        sum += solver::twice(0);
    }
    solver::long_name(static_cast<solver::Tree<7>::type *>(nullptr));
    return sum == 12 ? 0 : 1;
}
