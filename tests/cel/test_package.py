"""The package imports nothing of the rest of muster but a decorator and the wrapper of RE2, so that it can be read,
tested and used alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

import muster.cel
import muster.dataclass
import muster.regex

PACKAGE = Path(muster.cel.__file__).parent


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports anywhere, also inside functions and for type checking only."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_package_imports_nothing_else_of_muster() -> None:
    found = {name for path in PACKAGE.rglob("*.py") for name in imported(path) if name.partition(".")[0] == "muster"}
    assert len(found) > 100
    others = {name.rpartition(".")[0] for name in found if not f"{name}.".startswith("muster.cel.")}
    assert others == {"muster.dataclass", "muster.regex"}
    for module in (muster.dataclass, muster.regex):
        assert [name for name in imported(Path(str(module.__file__))) if name.partition(".")[0] == "muster"] == []
