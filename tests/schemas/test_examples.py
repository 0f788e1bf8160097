"""The examples, which the pages of docs/kinds/ show: together they are a fleet that `muster validate` accepts."""

from pathlib import Path

import yaml

from tests.schemas.test_values import EXAMPLES
from tests.support.commandline import Run


def test_the_examples_are_a_valid_fleet_and_the_policy_test_passes(muster: Run, tmp_path: Path) -> None:
    """What is left: an audit annotation, a shortened request, and a waiver whose date has passed."""
    for label, body in EXAMPLES.items():
        (tmp_path / f"{label.lower()}.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    code, out, err = muster("validate", "--repo", str(tmp_path), "-o", "json")
    assert code == 0, out + err
    assert {found["code"] for found in yaml.safe_load(out)} <= {"MUS322", "MUS240", "MUS703"}
    assert muster("test", "--repo", str(tmp_path))[0] == 0
