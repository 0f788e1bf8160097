"""Tables for pipes, and texts that a terminal must not obey."""

import pytest

from muster.cli.table import Heading, fitted, table_text
from muster.data.printable import printable


def test_columns_are_aligned_and_nothing_trails() -> None:
    assert table_text(["NAME", "STATE"], [["a", "True"], ["longer", ""]]) == "NAME     STATE\na        True\nlonger"


def test_names_from_anywhere_cannot_move_the_cursor() -> None:
    assert "\x1b" not in table_text(["NAME"], [["\x1b[2Jgone"]])
    assert printable("ä\x1b[31m\n\u202e\udcff") == "ä\\x1b[31m\\n\\u202e\\udcff"


HEADINGS = [Heading("NAME"), Heading("AVAILABLE", "AVAIL"), Heading("REASON", rank=2), Heading("SINCE", rank=1)]
ROW = ["prod-eu-1", "True", "ManagedClusterAvailable", "49m"]


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (80, "prod-eu-1   True        ManagedClusterAvailable   49m"),
        (48, "prod-eu-1  True   ManagedClusterAvailable  49m"),
        (40, "prod-eu-1  True   49m"),
        (20, "prod-eu-1  True"),
        (14, "prod-eu…  True"),
    ],
)
def test_a_narrow_terminal_has_short_headings_then_fewer_columns_and_then_short_cells(width: int, said: str) -> None:
    assert fitted(HEADINGS, [ROW], width).line(ROW) == said
