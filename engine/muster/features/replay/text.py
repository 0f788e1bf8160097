"""Where policies would have decided otherwise, for people and as data."""

from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.replay.replayed import Replayed


def replay_text(found: Replayed) -> str:
    """Return a table by object and time, and a line that sums up."""
    runs = f"{found.runs} run{'' if found.runs == 1 else 's'} replayed"
    if not found.differences:
        return f"{runs}: all would have been decided as it was.\n"
    rows = [
        [str(d.object), d.field, format_time(d.since), format_time(d.until) if d.until else "-", d.committed or "-",
         d.replayed or "-"]
        for d in found.differences
    ]  # fmt: skip
    count = len(found.differences)
    table = table_text(["OBJECT", "WHAT", "FROM", "UNTIL", "COMMITTED", "WOULD HAVE BEEN"], rows)
    return f"{table}\n{runs}: {count} difference{'' if count == 1 else 's'}.\n"


def replay_document(found: Replayed) -> Tree:
    """Return the same as data."""
    return {
        "runs": found.runs,
        "unheard": found.unheard,
        "differences": [
            {
                "object": object_document(d.object),
                "field": d.field, "since": format_time(d.since), "until": format_time(d.until) if d.until else None,
                "committed": d.committed or None, "replayed": d.replayed or None,
            }
            for d in found.differences
        ],
    }  # fmt: skip
