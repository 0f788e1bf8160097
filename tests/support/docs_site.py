"""The documentation as a site: `python -m tests.support.docs_site` makes build/site.

Pages link to each other as a forge has them, also out of docs/: to schemas, policies, files of deploy/. So the site has
the repository's own paths: every page lies in the site where it lies in the repository, and whatever a page links to is
copied to where it says. A link to a folder leads to the folder's README, or to a list of its files. The site opens with
docs/index.md; the README opens the repository on a forge.
"""

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).resolve().parents[2]
_PAGES: Final = ("*.md", "docs/**/*.md", "deploy/*.md", "schemas/*.md", "benchmarks/*.md", "fleet-repo-example/*.md")
_LANDING: Final = "docs/index.md"
#: A code in a row of a table, and where a long name may be broken.
_ROW: Final = re.compile(r"^\|.*\|$", re.MULTILINE)
_CODE: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_BREAK: Final = re.compile(r"(?<=[_./])(?=\w)|(?<=[a-z])(?=[A-Z])")
_INLINE: Final = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE: Final = re.compile(
    r"^( *```\w+) (?:file=(?P<file>\S+)|more=(?P<more>\S+)|(?P<named>\d\d:\d\d muster .+|\S+\.yaml)|.*)$", re.MULTILINE
)


def pages() -> dict[str, str]:
    """Return the text of every page, by its path in the repository."""
    found = sorted({path for pattern in _PAGES for path in ROOT.glob(pattern)})
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


def links(text: str) -> Iterator[str]:
    """Yield where a page's links and pictures lead, less those to other hosts."""
    for token in _tokens(MarkdownIt("commonmark").enable("table").parse(text)):
        target = token.attrs.get("href") or token.attrs.get("src")
        if isinstance(target, str) and not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """Return the anchors of a page, as GitHub and GitLab make them of its headings."""
    found, tokens = dict[str, int](), MarkdownIt("commonmark").parse(text)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            words = "".join(child.content for child in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{again}" if again else slug for slug, times in found.items() for again in range(times + 1)}


def path_of(page: str, link: str) -> str:
    """Return the path in the repository that a page's link leads to, without the anchor."""
    target = unquote(link.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page


def build(folder: Path = ROOT) -> Path:
    """Make the site below a folder; return where it is. AssertionError for a link or an anchor that leads nowhere."""
    staged, site = folder / "build/pages", folder / "build/site"
    shutil.rmtree(folder / "build/pages", ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    stage(staged)
    if folder != ROOT:
        shutil.copyfile(ROOT / "mkdocs.yml", folder / "mkdocs.yml")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for file in staged.rglob("*"):  # what it leaves out as somebody's templates or settings
        target = site / file.relative_to(staged)
        if file.is_file() and file.suffix != ".md" and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    return site


def stage(folder: Path) -> None:
    """Lay out the site's sources."""
    texts = pages()
    del texts["README.md"]
    _copy(folder, "docs/site.css")
    for page, text in texts.items():
        place = "index.md" if page == _LANDING else page
        _write(folder / place, _INLINE.sub(partial(_placed, page), _FENCE.sub(_titled, _in_tables(text))))
        for link in links(text):
            path = path_of(page, link)
            if path in texts:
                continue
            if (ROOT / path).is_dir():
                _list(folder, path)
            else:
                _copy(folder, path)


def _in_tables(text: str) -> str:
    """A page whose tables have codes that break between words. `\\|` in a code is `|`, as on a forge."""

    def code(found: re.Match[str]) -> str:
        parts = _BREAK.split(found[1].replace("\\|", "|"))
        return f"<code>{'<wbr>'.join(escape(part, quote=False).replace('|', '&#124;') for part in parts)}</code>"

    def rows(prose: str) -> str:
        return _ROW.sub(lambda row: _CODE.sub(code, row[0]), prose)

    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if number % 2 else rows(part) for number, part in enumerate(parts))


def _titled(fence: re.Match[str]) -> str:
    """A fence as the site reads it: it takes only some info strings, and shows a block with another one as prose."""
    title = fence["file"] or fence["named"] or (f"{fence['more']} (continued)" if fence["more"] else "")
    return f'{fence[1]} title="{title}"' if title else fence[1]


def _placed(page: str, found: re.Match[str]) -> str:
    """A link to a folder leads to a page in it; those of the landing page begin at the top."""
    before, link, after = found.groups()
    if page == _LANDING:
        return f"{before}{path_of(page, link)}{after}"
    if re.match(r"[a-z]+:|#", link) or not (ROOT / path_of(page, link)).is_dir():
        return found[0]
    name = "README.md" if (ROOT / path_of(page, link) / "README.md").is_file() else "index.md"
    return f"{before}{link.rstrip('/')}/{name}{after}"


def _list(folder: Path, path: str) -> None:
    if (ROOT / path / "README.md").is_file():
        return
    names = sorted(file.relative_to(ROOT / path).as_posix() for file in (ROOT / path).rglob("*") if file.is_file())
    shown = [name for name in names if "__pycache__" not in name and not re.match(r"derived/|\.muster/", name)]
    _write(folder / path / "index.md", "\n".join([f"# {path}/", "", *(f"* [{name}]({name})" for name in shown), ""]))
    for name in shown:
        _copy(folder, f"{path}/{name}")


def _copy(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, folder / path)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _tokens(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _tokens(token.children or [])


if __name__ == "__main__":
    print(build())
