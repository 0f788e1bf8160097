"""What budgets hold back, under a table: one line for each reason."""

from collections.abc import Iterable, Iterator

from muster.data.tree import Tree, dig


def held_lines(held: Iterable[Tree], bodies: Iterable[Tree]) -> Iterator[str]:
    """Yield `3 effects are held: <reason>` for each reason that concerns any of these objects, by reason."""
    shown = {(body["kind"], dig(body, "metadata", "namespace") or "", body["metadata"]["name"]) for body in bodies}
    counts: dict[str, int] = {}
    for entry in held:
        if (entry["kind"], entry["namespace"], entry["name"]) in shown:
            counts[entry["reason"]] = counts.get(entry["reason"], 0) + 1
    for reason, count in sorted(counts.items()):
        yield f"{count} effect{' is' if count == 1 else 's are'} held: {reason}"
