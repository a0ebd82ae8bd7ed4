// Functions that are left by exceptions again and again, at one place of the stack. With inlining: a compiler
// need not call exit hooks over an exception. What is called how often is counted in cpp.sh.
enum { COUNT = 1000 };

static volatile int sink;

__attribute__((noinline)) void leaf()
{
    sink = sink + 1;
}

__attribute__((noinline)) void thrower(int n)
{
    if (n >= 0)
        throw n;
    sink = n;
}

static inline void between(int n)
{
    thrower(n);
    sink = n;
}

__attribute__((noinline)) void alone()
{
    for (int i = 0; i < COUNT; i++) {
        try {
            between(i);
        } catch (int) {
        }
    }
}

int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main()
{
    for (int i = 0; i < COUNT; i++) {
        try {
            thrower(i);
        } catch (int) {
            leaf();
        }
    }
    alone();
    for (int i = 0; i < COUNT; i++) {
        try {
            thrower(i);
        } catch (int) {
        }
    }
    leaf();
    return fibonacci(12) == 144 ? 0 : 1;
}
