"""docs/cel.md: every example of it is run, and its list of macros is whole."""

import doctest
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster import cel
from muster.cel.folds import FOLDS
from muster.cel.types import TIMESTAMP, MapType, StringType
from tests.cel.comparing import comparable
from tests.cel.environment import CLUSTER, CONDITION, LEASE

PAGE = Path(__file__).parents[2] / "docs" / "cel.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```cel\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLES = [tuple(re.split(r"\s+// ", line, maxsplit=1)) for block in BLOCKS for line in block.splitlines() if line]

ENV = cel.Env(
    variables={"self": CLUSTER, "lease": LEASE, "conditions": MapType(StringType(), CONDITION), "now": TIMESTAMP}
)
DATA = {
    "now": datetime(2026, 1, 1, 0, 10, tzinfo=UTC),
    "lease": {"spec": {"renewTime": "2026-01-01T00:09:30Z"}},
    "conditions": {},
    "self": {
        "metadata": {"name": "prod-eu-1", "labels": {"env": "prod"}},
        "spec": {
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "taints": [
                {"key": "gpu", "value": "true", "effect": "NoSelect"},
                {"key": "maintenance", "effect": "PreferNoSelect"},
            ],
        },
        "status": {"conditions": []},
    },
}


@pytest.mark.parametrize(("text", "promised"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_an_example(text: str, promised: str) -> None:
    kind, _, message = promised.partition(": ")
    if kind == "refused":
        with pytest.raises(cel.CompileError) as refused:
            cel.compile(text, ENV)
        assert [
            f"{issue.message} ({issue.hint})" if issue.hint else issue.message for issue in refused.value.issues
        ] == [message]
        return
    result = cel.compile(text, ENV).run(DATA)
    if kind == "error":
        assert result.error is not None
        assert result.error.message.startswith(message)
    else:
        assert result.error is None
        assert comparable(result.value) == comparable(cel.compile(promised).evaluate({}))


def test_the_python_examples() -> None:
    found = doctest.DocTestParser().get_doctest(TEXT, {}, "cel.md", str(PAGE), 0)
    assert found.examples
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(found, out=report.append)
    assert report == []


def test_every_macro_is_listed_and_nothing_else() -> None:
    table = TEXT.partition("| macros |")[2].partition("\n\n")[0]
    macros = {*FOLDS, "has", "optMap", "optFlatMap", "sortBy", "cel.bind", "window", "calendar"}
    assert sorted(set(re.findall(r"`([\w.]+)`", table)) ^ macros) == []
