"""Check a report of moss-run in JSON, on standard input.

usage: check.py <expression>...    with `report` and, for its first result, `c`
"""

import json
import sys

report = json.load(sys.stdin)
c = report["results"][0].get("comparison")
for expression in sys.argv[1:]:
    assert eval(expression), f"{expression} is false for {json.dumps(report)}"
