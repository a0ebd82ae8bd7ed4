#!/usr/bin/python3
"""Makes the C file that holds the page around its data.

Usage: embed.py OUT.c template.html page.css SCRIPT.js...

The style and the scripts, joined, go into the template, and their hashes into its policy, so that a browser runs nothing
else. What stands before and after {{data}} become page_head and page_tail.
"""
import base64
import hashlib
import sys


def source_of(text):
    """As a policy names inline text of that content."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def array_of(name, text):
    data = text.encode()
    lines = [",".join(str(byte if byte < 128 else byte - 256) for byte in data[i : i + 32]) for i in range(0, len(data), 32)]
    return (
        f"const char {name}[] = {{\n" + ",\n".join(lines) + "};\n"
        f"const size_t {name}_size = sizeof {name};\n"
    )


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    out, template, style, *scripts = sys.argv[1:]
    style = read(style)
    script = "\n".join(map(read, scripts))
    for text, end in ((style, "</style"), (script, "</script")):
        if end in text.lower():
            sys.exit(f"embed.py: {end} would end the element that holds it")
    page = read(template)
    for mark, text in (
        ("{{style-source}}", source_of(style)),
        ("{{script-source}}", source_of(script)),
        ("{{style}}", style),
        ("{{script}}", script),
    ):
        if page.count(mark) != 1:
            sys.exit(f"embed.py: {template}: {mark} is not there once")
        page = page.replace(mark, text)
    head, mark, tail = page.partition("{{data}}")
    if not mark or not head.startswith("<!doctype html>"):
        sys.exit(f"embed.py: {template}: no doctype, or no place for the data")
    with open(out, "w", encoding="ascii") as file:
        file.write('#include "template.h"\n\n' + array_of("page_head", head) + "\n" + array_of("page_tail", tail))


main()
