#include "units.h"

#include <stddef.h>
#include <stdio.h>

/* Three significant digits of value, at least its whole part; the unit is stepped up where rounding fills it. */
static void scaled(double value, const char *const *units, size_t count, double step, units_buffer buffer)
{
    size_t unit = 0;
    while (unit + 1 < count && value >= step - 0.5) {
        value /= step;
        ++unit;
    }
    int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buffer, sizeof(units_buffer), "%.*f %s", digits, value, units[unit]);
}

const char *units_time(int64_t ns, units_buffer buffer)
{
    static const char *const units[] = {"ns", "\xc2\xb5s", "ms", "s"};
    double value = (double)ns;
    if (value >= 0) {
        scaled(value, units, 4, 1000, buffer);
        return buffer;
    }
    units_buffer positive;
    scaled(-value, units, 4, 1000, positive);
    snprintf(buffer, sizeof(units_buffer), "-%.30s", positive);
    return buffer;
}

const char *units_age(int64_t ns, units_buffer buffer)
{
    int64_t s = ns / 1000000000;
    if (ns < 0)
        snprintf(buffer, sizeof(units_buffer), "-");
    else if (s < 120)
        units_time(ns, buffer);
    else if (s < 7200)
        snprintf(buffer, sizeof(units_buffer), "%lld min", (long long)(s / 60));
    else if (s < 172800)
        snprintf(buffer, sizeof(units_buffer), "%lld h", (long long)(s / 3600));
    else
        snprintf(buffer, sizeof(units_buffer), "%lld d", (long long)(s / 86400));
    return buffer;
}

const char *units_bytes(uint64_t n, units_buffer buffer)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    scaled((double)n, units, 7, 1024, buffer);
    return buffer;
}
