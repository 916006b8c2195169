#!/usr/bin/env python3
"""Writes docs/driver_coverage.md: what becomes of every memory-related driver function.

With --check, compares instead of writing, and compares the catalogue with the exports of a built libvramguard.so
(--library). Every function of the catalogue is wrapped, passed or named as not yet; anything else is an error.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "shim/driver_functions.inc"
REASONS = ROOT / "shim/not_wrapped.tsv"
CATALOG = ROOT / "tests/data/driver_api_catalog.tsv"
PAGE = ROOT / "docs/driver_coverage.md"

HEAD = """# Which driver functions are guarded

Every function of the CUDA driver and of NVML that concerns memory, up to CUDA 13.0, and what vramguard does with it. This page is
made by `scripts/driver_coverage.py` from `shim/driver_functions.inc` and `shim/not_wrapped.tsv`; `scripts/check.sh` keeps it true.

- **wrapped**: goes through the guard on every way in (link, `dlsym`, `cuGetProcAddress`).
- **passed**: goes to the driver untouched, for the reason given.
- **not yet**: takes, gives or shows device memory and is not guarded by this release. What such calls take does not count
  against the budget, except that the bytes are seen when the next context is measured.
"""


def wrapped_names():
    return re.findall(r"^VG_(?:DRIVER|NVML)_FUNCTION\((\w+),", TABLE.read_text(), re.M)


def reasons():
    rows = []
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        pattern, disposition, reason = line.split("\t")
        if disposition not in ("passed", "not yet"):
            sys.exit(f"{REASONS}:{number}: error: '{disposition}' is neither 'passed' nor 'not yet'")
        rows.append((re.compile(pattern), disposition, reason))
    return rows


def catalog():
    lines = [line for line in CATALOG.read_text().splitlines() if not line.startswith("#")]
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"))) for line in lines[1:]]


def classify(rows, wrapped):
    table, errors = [], []
    why = reasons()
    used = set()
    for row in rows:
        name = row["symbol"]
        if name in wrapped:
            table.append((row["category"], name, row["first_cuda"], "wrapped", ""))
            continue
        for index, (pattern, disposition, reason) in enumerate(why):
            if pattern.fullmatch(name):
                used.add(index)
                table.append((row["category"], name, row["first_cuda"], disposition, reason))
                break
        else:
            errors.append(f"error: {name} is neither in {TABLE.name} nor explained in {REASONS.name}")
    names = {row["symbol"] for row in rows}
    errors += [f"error: {name} of {TABLE.name} is not in {CATALOG.name}" for name in wrapped if name not in names]
    errors += [f"error: pattern '{why[i][0].pattern}' of {REASONS.name} fits no function" for i in range(len(why)) if i not in used]
    return table, errors


def page(table):
    counts = {kind: sum(1 for row in table if row[3] == kind) for kind in ("wrapped", "passed", "not yet")}
    text = HEAD + "\n" + f"{counts['wrapped']} wrapped, {counts['passed']} passed, {counts['not yet']} not yet.\n"
    category = None
    for row in table:
        if row[0] != category:
            category = row[0]
            text += f"\n## {category}\n\n| function | since CUDA | | why |\n|---|---|---|---|\n"
        kind = f"**{row[3]}**" if row[3] == "wrapped" else row[3]
        text += f"| `{row[1]}` | {row[2]} | {kind} | {row[4]} |\n"
    return text


def exports(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].split("@")[0] for line in output.splitlines() if " T " in line}
    return {name for name in names if re.match(r"cu[A-Z]|nvml[A-Z]", name)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--library")
    arguments = parser.parse_args()
    wrapped = wrapped_names()
    table, errors = classify(catalog(), wrapped)
    table.sort(key=lambda row: row[0])
    if arguments.library:
        found = exports(arguments.library)
        errors += [f"error: {arguments.library} does not export {name}" for name in sorted(set(wrapped) - found)]
        errors += [f"error: {arguments.library} exports {name}, which is not in {TABLE.name}" for name in sorted(found - set(wrapped))]
    if not errors and arguments.check and (not PAGE.exists() or PAGE.read_text() != page(table)):
        errors.append(f"error: {PAGE.relative_to(ROOT)} is out of date: run scripts/driver_coverage.py")
    if errors:
        sys.exit("\n".join(errors))
    if not arguments.check:
        PAGE.write_text(page(table))


if __name__ == "__main__":
    main()
