"""Tables for pipes, and texts that a terminal must not obey."""

from muster.model.printable import printable
from muster.output.table import table_text


def test_columns_are_aligned_and_nothing_trails() -> None:
    assert table_text(["NAME", "STATE"], [["a", "True"], ["longer", ""]]) == "NAME     STATE\na        True\nlonger"


def test_names_from_anywhere_cannot_move_the_cursor() -> None:
    assert "\x1b" not in table_text(["NAME"], [["\x1b[2Jgone"]])
    assert printable("ä\x1b[31m\n\u202e\udcff") == "ä\\x1b[31m\\n\\u202e\\udcff"
