#!/usr/bin/env python3
"""An agent in Python that parley run starts once for each turn: one JSON document on stdin, JSON lines on stdout.

It adds up the numbers that were said since its last turn, and goes on until somebody says "bye". It needs nothing but Python.

    parley run --agent adder -- python3 python_command.py
"""

import json
import re
import sys


def say(**line):
    """Says one thing: a line of JSON. With flush, so that progress is seen while we work."""
    print(json.dumps(line), flush=True)


def words(event):
    return event["payload"].get("text", "")


def main():
    turn = json.load(sys.stdin)
    me = turn["conversation"]["you"]
    heard = [event for event in turn["messages"] if event["from"] != me]

    # stderr becomes traces: only our own side reads them.
    print(f"turn {turn['turn']}, attempt {turn['attempt']}: {len(heard)} messages", file=sys.stderr)

    if any(re.search(r"\bbye\b", words(event), re.IGNORECASE) for event in heard):
        say(text="bye", finality="conversation", outcome={"status": "completed", "reason": "said bye"})
        return

    numbers = [float(n) for event in heard for n in re.findall(r"-?\d+(?:\.\d+)?", words(event))]
    if not numbers:
        say(text="Give me numbers, or say bye.")
        return

    say(progress=f"adding {len(numbers)} numbers")
    # Without finality a message ends the turn. It is posted when this program has ended with exit code 0.
    say(text=f"The sum is {sum(numbers):g}.", data={"sum": sum(numbers), "numbers": numbers}, schema="sum.v1")


if __name__ == "__main__":
    main()
