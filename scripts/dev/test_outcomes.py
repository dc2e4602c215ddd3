"""What came of the tests: why some were skipped, how to repeat what failed, how many there were.

    scripts/dev/test_outcomes.py PRESET=REPORT...

Each report is what `ctest --output-junit` wrote.  Standard library only: it needs no environment.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def reason(case: ElementTree.Element) -> str:
    """Why a test was skipped: what it printed behind "skipped: "."""
    said = re.search(r"(?m)skipped: (.+)$", case.findtext("system-out") or "")
    return said[1].strip() if said else "it does not say why"


def outcomes(preset: str, report: Path) -> tuple[Counter[str], Counter[str], list[str]]:
    """How many passed, failed and were skipped; each reason's number of tests; who failed."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failed = []
    if not report.is_file():
        return Counter(failed=1), reasons, [f"{preset}: no test ran"]
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name, status = case.get("name", ""), case.get("status")
        if status == "run":
            counts["passed"] += 1
        elif status == "fail":
            counts["failed"] += 1
            failed.append(f"scripts/test --preset {preset} -R '^{re.escape(name)}$'")
        else:
            counts["skipped"] += 1
            reasons[reason(case)] += 1
    return counts, reasons, failed


def main(arguments: list[str]) -> None:
    """Prints them all."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failed: list[str] = []
    for argument in arguments:
        preset, _, report = argument.partition("=")
        for total, part in zip(
            (counts, reasons, failed), outcomes(preset, Path(report)), strict=True
        ):
            total += part
    for why, number in reasons.most_common():
        print(f"skipped {number}: {why}")
    for command in failed:
        print(f"failed, again with: {command}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")


if __name__ == "__main__":
    main(sys.argv[1:])
