"""What an adapter found, and the table that is printed of it."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: `status` is `passed`, `failed` or `skipped`; for a skipped one `actual` is the reason."""

    area: str
    name: str
    status: str
    expected: str = ""
    actual: str = ""


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the lines of the table area / passed / failed / skipped, with a total; behind it what was skipped, by
    reason and by name, and all failures."""
    known = list(outcomes)
    counts = Counter((outcome.area, outcome.status) for outcome in known)
    areas = sorted({outcome.area for outcome in known})
    width = max([len(area) for area in areas] + [5])
    lines = [f"{'area':<{width}}  passed  failed  skipped"]
    for area in areas:
        lines.append(_row(area, width, [counts[area, status] for status in ("passed", "failed", "skipped")]))
    total = [sum(outcome.status == status for outcome in known) for status in ("passed", "failed", "skipped")]
    lines.append(_row("total", width, total))
    share = 100 * total[2] / len(known) if known else 0.0
    lines.append(f"skipped: {share:.1f} % of {len(known)}")
    skipped = [outcome for outcome in known if outcome.status == "skipped"]
    for reason in sorted({outcome.actual for outcome in skipped}):
        names = [outcome.name for outcome in skipped if outcome.actual == reason]
        lines += [f"  {len(names)} x {reason}", *(f"      {name}" for name in names)]
    for outcome in known:
        if outcome.status == "failed":
            lines += [f"FAILED {outcome.name}", f"  expected {outcome.expected}", f"  actual   {outcome.actual}"]
    return lines


def _row(area: str, width: int, numbers: list[int]) -> str:
    return f"{area:<{width}}  {numbers[0]:>6}  {numbers[1]:>6}  {numbers[2]:>7}"


def as_json(outcomes: Iterable[Outcome]) -> str:
    """Return all outcomes as one JSON list."""
    return json.dumps([asdict(outcome) for outcome in outcomes], indent=1, sort_keys=True)
