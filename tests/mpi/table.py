#!/usr/bin/python3
"""table.py CALLS LIBRARY MPI: does the table of wrapped functions agree with the mpi.h and the libraries of MPI
(openmpi, mpich)? The arguments of each prototype, with one more word in Fortran for ierror and for the length of each
string; and every name under which the MPI exports a function of the table is one that LIBRARY exports too."""
import re
import subprocess
import sys
import tempfile

calls, library, mpi = sys.argv[1:]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(path):
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", path).splitlines()}


def arguments(text):
    """The arguments of a prototype: commas inside of brackets separate none."""
    while re.search(r"[(\[][^()\[\]]*[)\]]", text):
        text = re.sub(r"[(\[][^()\[\]]*[)\]]", "", text)
    return [] if text.strip() in ("", "void") else text.split(",")


with open(calls, encoding="utf-8") as lines:
    rows = re.findall(r"^X\((\w+), (\w+), (\w+), (\d+), (\d+)\)$", lines.read(), re.M)
header = run(f"mpicc.{mpi}", "-E", "-P", "-x", "c", "-include", "mpi.h", "/dev/null")
prototypes = {name: arguments(text) for name, text in
              re.findall(r"\bint\s+(MPI_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)[^;{}]*;", header)}
wrong, seen = [], 0
for kind, name, low, c, fortran in rows:
    if low != name.lower():
        wrong.append(f"{name}: its Fortran name is {low}")
    for variant in (f"MPI_{name}", f"MPI_{name}_c"):
        if variant not in prototypes:
            continue
        seen += 1
        found = prototypes[variant]
        words = len(found) + 1 + sum(bool(re.search(r"\bchar\b", argument)) for argument in found)
        if kind == "INIT":  # argc and argv, a string, are of C alone
            words -= 3
        if len(found) != int(c) or words != int(fortran):
            wrong.append(f"{variant}: {c} and {fortran} in the table, {len(found)} and {words} in mpi.h")

with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/a.f90", "w", encoding="utf-8") as source:
        source.write("end\n")
    run(f"mpifort.{mpi}", "-Wl,--no-as-needed", "-o", f"{folder}/a", f"{folder}/a.f90")
    theirs = set()
    for path in re.findall(r"=> (\S*lib\S*mpi\S*) ", run("ldd", f"{folder}/a")):
        theirs |= exports(path)
ours, names = exports(library), {low for _, _, low, _, _ in rows}
large = {f"MPI_{name}{suffix}" for _, name, _, _, _ in rows for suffix in ("", "_c")}
for symbol in sorted(theirs):
    fortran = re.fullmatch(r"mpi_(\w+?)(_cptr|_f08|_f08ts|_f08_large|_f08ts_large)?_", symbol)
    if (symbol in large or (fortran and fortran[1] in names)) and symbol not in ours:
        wrong.append(f"{symbol}: {mpi} has it, and no wrapper")
if len(theirs & ours) < 500 or seen < 150:
    wrong.append(f"only {seen} prototypes and {len(theirs & ours)} names were found")
print("\n".join(wrong) if wrong else f"{mpi}: {seen} prototypes, {len(theirs & ours)} names")
sys.exit(bool(wrong))
