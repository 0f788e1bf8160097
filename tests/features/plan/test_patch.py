"""A patch says exactly what the files say, to git; and prints nothing that a terminal or a log would obey."""

from pathlib import Path

import pytest

from muster.data.printable import printable
from muster.features.plan.patch import patch_lines
from tests.support.git import new_repository

#: What people have written into a derived file, and what muster writes instead: context, removed and added lines.
ODD = {
    "an escape": b"a: 1\n# \x1b[31mred\nb: 2\n",
    "a command of a forge": b"a: 1\n##vso[task.setvariable]x\n::add-mask::x\nb: 2\n",
    "a line that turns round": "a: 1\n# \u202egnirts\nb: 2\n".encode(),
    "a line separator": "a: 1\n# x\u2028y\nb: 2\n".encode(),
    "other ends of lines": b"a: 1\r\nb: 2\r\n",
    "no last newline": b"a: 1\nb: 2",
    "no UTF-8": b"a: 1\n# \xff\nb: 2\n",
    "nothing": b"",
    "a thousand letters": b"a: 1\n# \x07" + b"x" * 1000 + b"\nb: 2\n",
}


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("new", ["a: 1\nb: 3\n", None])
def test_git_applies_a_patch_of_odd_text(tmp_path: Path, odd: str, new: str | None, object_format: str) -> None:
    repo, path = new_repository(tmp_path / "fleet", object_format=object_format), "derived/x.yaml"
    repo.commit({path: ODD[odd], ".gitattributes": "* -text\n"})
    lines = list(patch_lines({path: ODD[odd]}, {path: new}, object_format))
    assert [line for line in lines if printable(line) != line] == []
    repo.git("apply", stdin="".join(f"{line}\n" for line in lines).encode())
    file = repo.path / path
    assert (file.read_text() if file.exists() else None) == new
    repo.git("apply", "--reverse", stdin="".join(f"{line}\n" for line in lines).encode())
    assert file.read_bytes() == ODD[odd]


@pytest.mark.parametrize("odd", [name for name in ODD if name not in ("no UTF-8", "nothing")])
def test_what_is_added_may_be_odd_too(tmp_path: Path, odd: str) -> None:
    repo, path = new_repository(tmp_path / "fleet"), 'derived/ö " x.yaml'
    repo.commit({"a": "", ".gitattributes": "* -text\n"})
    text = ODD[odd].decode()
    repo.git("apply", stdin="".join(f"{line}\n" for line in patch_lines({}, {path: text})).encode())
    assert (repo.path / path).read_bytes() == ODD[odd]


def test_plain_text_is_a_plain_diff() -> None:
    assert list(patch_lines({"x": b"a: 1\n"}, {"x": "a: ü\n"})) == [
        "--- a/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "-a: 1",
        "+a: ü",
    ]
