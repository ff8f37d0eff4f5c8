#!/usr/bin/env python3
"""Says what is in a CSV file: its parameters are one JSON object on stdin, its result is one JSON object on stdout.

It reads row by row, so that a file may be larger than memory. Of a column at most DISTINCT different values are remembered.
"""

import csv
import datetime
import io
import json
import re
import sys

DISTINCT = 100_000

INTEGER = re.compile(r"[+-]?\d{1,300}")
NUMBER = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,2})?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def is_date(value):
    if not DATE.fullmatch(value):
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


# From the narrowest to the widest. A column is of the first that all of its values fit.
TYPES = [
    ("integer", lambda v: INTEGER.fullmatch(v), int),
    ("number", lambda v: NUMBER.fullmatch(v), float),
    ("boolean", lambda v: v.lower() in ("true", "false"), None),
    ("date", is_date, str),
]


class Column:
    """What is known of a column so far. For each type that all values have fitted: the least, the greatest, the sum."""

    def __init__(self, name):
        self.name, self.values, self.missing, self.capped = name, 0, 0, False
        self.distinct = set()
        self.fits = {name: [None, None, 0] for name, _, _ in TYPES}

    def add(self, value):
        self.values += 1
        if len(self.distinct) < DISTINCT:
            self.distinct.add(value)
        elif value not in self.distinct:
            self.capped = True
        for name, test, read in TYPES:
            if name not in self.fits:
                continue
            if not test(value):
                del self.fits[name]
            elif read:
                self.widen(self.fits[name], read(value))

    @staticmethod
    def widen(fit, value):
        if fit[0] is None or value < fit[0]:
            fit[0] = value
        if fit[1] is None or value > fit[1]:
            fit[1] = value
        if not isinstance(value, str):
            fit[2] += value

    def profile(self):
        kind = "empty" if not self.values else next(iter(self.fits), "string")
        out = {"name": self.name, "type": kind, "missing": self.missing, "distinct": len(self.distinct), "distinct_capped": self.capped}
        if kind in ("integer", "number", "date"):
            out["min"], out["max"], total = self.fits[kind]
            if kind != "date":
                out["mean"] = round(total / self.values, 6)
        return out


def profile(lines, delimiter, missing, progress_every):
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header = next(reader, None)
    if header is None:
        raise ValueError("there is no header: expected the names of the columns in the first row")
    columns = [Column(name.strip() or f"column {i + 1}") for i, name in enumerate(header)]
    rows = ragged = 0
    for row in reader:
        if not row:
            continue  # an empty line
        rows += 1
        ragged += len(row) != len(columns)
        for i, column in enumerate(columns):
            value = row[i].strip() if i < len(row) else None
            if value is None or value in missing:
                column.missing += 1
            else:
                column.add(value)
        if rows % progress_every == 0:
            print(f"{rows} rows", file=sys.stderr, flush=True)  # a line of progress
    return {"rows": rows, "ragged_rows": ragged, "columns": [c.profile() for c in columns]}


def main():
    p = json.load(sys.stdin)
    settings = p["delimiter"], set(p["missing"]), p["progress_every"]
    if "text" in p:
        return profile(io.StringIO(p["text"], newline=""), *settings)
    with open(p["path"], encoding="utf-8-sig", newline="") as lines:
        return profile(lines, *settings)


if __name__ == "__main__":
    try:
        json.dump(main(), sys.stdout, allow_nan=False)
    except (OSError, UnicodeDecodeError, ValueError, OverflowError, csv.Error) as err:
        sys.exit(f"{type(err).__name__}: {err}")
