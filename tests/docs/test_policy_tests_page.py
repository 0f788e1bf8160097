"""docs/policy-tests.md: its policy, its cases, and what is printed, one after the other."""

import re
from pathlib import Path

from tests.support.commandline import Run
from tests.support.commandline import muster as muster

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "policy-tests.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:yaml (file|more)=(\S+)|(console))\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_every_block_is_so(muster: Run, tmp_path: Path) -> None:
    shown = 0
    for how, name, _, text in BLOCKS:
        if name:
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text((path.read_text() if how == "more" else "") + text)
            continue
        command, printed = text.split("\n", 1)
        _, out, err = muster(*command.removeprefix("$ muster ").split(), "--repo", tmp_path)
        assert f"{out}{err}" == printed
        shown += 1
    assert shown == 2
