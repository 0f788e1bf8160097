"""A run as one JSON document: what `muster render -o json` prints, field by field what `Run` has."""

from muster.cli.findings import finding_tree
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.rules.checks.waivers import told
from muster.run.run import Run


def run_document(run: Run, objects: list[Tree] | None = None) -> Tree:
    """Return the run's attributes as JSON data; `objects` in place of all of them where given."""
    return {
        "now": format_time(run.now),
        "commit": run.commit,
        "objects": run.objects if objects is None else objects,
        "files": run.files,
        "pulses": run.pulses,
        "held": run.held,
        "findings": [finding_tree(found) for found in told(run.findings, run.now)],
        "horizon": None if run.horizon is None else format_time(run.horizon),
    }
