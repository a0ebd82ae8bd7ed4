#include "out.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "say.h"

bool out_open(struct out *out, const char *path)
{
    out->path = path;
    out->fd = STDOUT_FILENO;
    out->error = 0;
    out->used = 0;
    if (!path) {
        signal(SIGPIPE, SIG_IGN); /* the write tells */
        return true;
    }
    int status = sp__durable_begin(&out->file, path, 0600);
    if (status < 0) {
        say("cannot write %s: %s; choose another place with -o", path, strerror(-status));
        return false;
    }
    out->fd = out->file.fd;
    return true;
}

static void flush(struct out *out)
{
    const char *at = out->buffer;
    while (out->used && !out->error) {
        ssize_t put = write(out->fd, at, out->used);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            out->error = put < 0 ? -errno : -EIO;
            break;
        }
        at += put;
        out->used -= (size_t)put;
    }
    out->used = 0;
}

bool out_close(struct out *out, bool *ret_unread)
{
    flush(out);
    *ret_unread = !out->path && out->error == -EPIPE;
    if (out->path && out->error)
        sp__durable_abandon(&out->file);
    else if (out->path)
        out->error = sp__durable_commit(&out->file);
    if (out->error && !*ret_unread)
        say("cannot write %s: %s; %s", out->path ? out->path : "to standard output", strerror(-out->error),
            out->path ? "no file was made or changed: make room, or choose another place with -o"
                      : "what was written so far is not all of it");
    return !out->error;
}

void out_abandon(struct out *out)
{
    if (out->path)
        sp__durable_abandon(&out->file);
}

void out_bytes(struct out *out, const char *bytes, size_t length)
{
    while (length) {
        size_t room = sizeof out->buffer - out->used, part = length < room ? length : room;
        memcpy(out->buffer + out->used, bytes, part);
        out->used += part;
        bytes += part;
        length -= part;
        if (out->used == sizeof out->buffer)
            flush(out);
    }
}

void out_text(struct out *out, const char *text)
{
    out_bytes(out, text, strlen(text));
}

void out_decimal(struct out *out, uint64_t n, unsigned places)
{
    char digits[32];
    size_t at = sizeof digits;
    for (unsigned written = 0; n || written <= places; ++written) {
        if (places && written == places)
            digits[--at] = '.';
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    }
    out_bytes(out, digits + at, sizeof digits - at);
}

void out_unsigned(struct out *out, uint64_t n)
{
    out_decimal(out, n, 0);
}

void out_signed(struct out *out, int64_t n)
{
    if (n < 0)
        out_bytes(out, "-", 1);
    out_decimal(out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 0);
}
