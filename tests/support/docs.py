"""Writes the generated parts of docs/: `python -m tests.support.docs`. The tests check that they are current."""

import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from muster.cel.declarations import OPERATORS, Overload
from muster.cel.library.registry import libraries
from muster.commandline import VERBS, cli
from muster.data.codes import Code
from muster.features.init import library as policies
from muster.features.metrics.metrics import METRICS
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository
from tests.support.in_process import muster
from tests.support.kind_pages import kind_pages
from tests.support.pipeline_picture import pipeline_picture
from tests.support.rooms import picture
from tests.support.sessions import LiveSession, Session
from tests.support.terminal import example_in

DOCS = Path(__file__).resolve().parents[2] / "docs"


def errors_page() -> str:
    """docs/errors.md: every finding code with its explanation."""
    lines = [
        "# Findings",
        "",
        "Look up what a finding means and how to fix it. `muster explain CODE` prints the same. A code is never",
        "reused. Generated from `engine/muster/data/codes.py` by `make docs`.",
        "",
    ]
    for code in sorted(Code):
        lines += [f"## {code}: {code.heading}", "", f"*{code.severity.value}.* {code.explanation}", ""]
    return "\n".join(lines)


def commands_page() -> str:
    """docs/commands.md: the help text of every verb."""
    root = click.Context(cli, info_name="muster", **cli.context_settings)
    intro = "Look up every command and its options. Generated from the help texts by `make docs`."
    lines = ["# Commands", "", intro, "", *_block(root)]
    for verb in VERBS:
        command = cli.get_command(root, verb)
        assert command is not None
        context = click.Context(command, info_name=verb, parent=root)
        lines += [f"## {verb}", "", *_block(context)]
        for name, part in sorted(command.commands.items()) if isinstance(command, click.Group) else ():
            lines += [f"### {verb} {name}", "", *_block(click.Context(part, info_name=name, parent=context))]
    return "\n".join(lines)


def library_page() -> str:
    """docs/policy-library.md: every policy of the library."""
    lines = [
        "# The policy library",
        "",
        "Copy policies that many fleets want, with their tests, and change them:",
        "",
        "```",
        "muster init --policies nodes-healthy,quarantine",
        "```",
        "",
        "This writes them, and those that they need, to `policies/`. Types and keys begin with `fleet.example.com`:",
        "put a domain of yours in its place.",
        "",
        "Generated from [`policies/library/`](../policies/library/) by `make docs`.",
        "",
        "| policy | what it decides |",
        "|---|---|",
    ]
    about = policies.library()
    lines += [f"| [{name}](#{name}) | {text} |" for name, text in about.items()]
    for name in about:
        text = policies.files_of([name])[f"{name}.yaml"].partition("\n")[2]
        lines += ["", f"## {name}", "", about[name], "", "```yaml", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def functions_page() -> str:
    """docs/cel-functions.md: every function of CEL, its types and its cost."""
    lines = [
        "# CEL functions",
        "",
        "Look up every function with its types and its cost in [units](cel.md#cost). `+` means that long values, and",
        "values that move with `now`, cost more. Macros are in [CEL](cel.md#functions). Generated from",
        "`engine/muster/cel/library/` by `make docs`.",
        "",
    ]
    for library in libraries():
        rows = [row for row in library.functions if row.name not in OPERATORS and not row.name.startswith("@")]
        if rows:
            lines += [
                f"## {library.title[0].upper()}{library.title[1:]}",
                "",
                "| function | types | units |",
                "|---|---|---|",
            ]
        for row in rows:
            types = "<br>".join(f"`{overload.signature} -> {_result(overload)}`" for overload in row.overloads)
            lines.append(f"| {row.doc} | {types} | {row.weight}{'+' if row.metered else ''} |")
        lines += [""] if rows else []
    return "\n".join(lines)


def _result(overload: Overload) -> str:
    return str(overload.result).replace("type_param:", "")


def _block(context: click.Context) -> list[str]:
    context.terminal_width = context.max_content_width = 100
    return ["```", context.get_help(), "```", ""]


def contributing_page() -> str:
    """CONTRIBUTING.md: what is written there, with the picture of the rooms as they are."""
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- rooms: written by make docs -->\n")
    _, end, after = rest.partition("<!-- rooms end -->")
    return f"{before}{begin}\n{picture()}\n\n{end}{after}"


def asked_page(name: str) -> str:
    """docs/questions.md and such: what is written there, each command with what it prints of the example fleet."""
    text = (DOCS / name).read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        repo = new_repository(Path(folder) / "fleet")
        files = (path for path in sorted(EXAMPLE.rglob("*")) if path.is_file())
        repo.commit({str(path.relative_to(EXAMPLE)): path.read_bytes() for path in files})
        for name, content in _FILES.findall(text):
            (Path(folder) / name).write_text(content, encoding="utf-8")
        return _CONSOLE.sub(lambda block: _printed(repo, Path(folder), block[1]), text)


_FILES = re.compile(r"^```yaml file=(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _printed(repo: Repo, folder: Path, block: str) -> str:
    lines = []
    for command in (line for line in block.splitlines() if line.startswith(("$ muster ", "$ git "))):
        if command.startswith("$ git "):
            lines.append(f"{command}\n{repo.git(*shlex.split(command)[2:])}".rstrip("\n"))
            continue
        words = shlex.split(command.removeprefix("$ muster "))
        words = [str(folder / word) if (folder / word).is_file() else word for word in words]
        _, out, err = muster(*words, environ={**repo.environ, "MUSTER_CACHE_DIR": ""}, cwd=repo.path)
        lines += [command, out + err]
    return "```console\n" + "\n".join(lines).rstrip("\n") + "\n```"


def pull_requests_page() -> str:
    """docs/pull-requests.md: what is written there, each command with what it prints, one after the other."""
    text = (DOCS / "pull-requests.md").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        session = Session(Path(folder))
        return _CONSOLE.sub(lambda block: session.played(block[1]), text)


def monitoring_page() -> str:
    """docs/monitoring.md: what is written there, each command with what it prints, and every metric."""
    text = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- metrics: written by make docs -->\n")
    _, end, after = rest.partition("<!-- metrics end -->")
    rows = [
        f"| `{one.name}` | {one.sort.value} | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |"
        for one in METRICS
    ]
    table = "\n".join(["| metric | type | labels | meaning |", "|---|---|---|---|", *rows])
    with TemporaryDirectory() as folder:
        example_in(Path(folder))
        session = Session(Path(folder))
        before = _CONSOLE.sub(lambda block: session.played(block[1]), before)
    return f"{before}{begin}\n{table}\n\n{end}{after}"


def played_page(name: str) -> str:
    """docs/quick-start.md and such: what is written there; its files are made and its commands played, one after the
    other."""
    text = (DOCS / name).read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        session = Session(Path(folder))
        return _BLOCK.sub(session.block, text)


_BLOCK = re.compile(r"^```(?:(?:yaml|text) file=(?P<file>\S+)|console)\n(?P<told>.*?)^```$", re.DOTALL | re.MULTILINE)


def live_page(name: str) -> str:
    """docs/first-fleet.md and its second page: what is written there; its commands start agents, and kill some."""
    text = (DOCS / name).read_text(encoding="utf-8")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, LiveSession(Path(folder)).ended() as session:
        return _BLOCK.sub(session.block, text)


PAGES: dict[str, Callable[[], str]] = {
    "monitoring.md": monitoring_page,
    "pull-requests.md": pull_requests_page,
    "errors.md": errors_page,
    "commands.md": commands_page,
    "cel-functions.md": functions_page,
    "policy-library.md": library_page,
    "questions.md": partial(asked_page, "questions.md"),
    "kubectl.md": partial(asked_page, "kubectl.md"),
    "../CONTRIBUTING.md": contributing_page,
    "quick-start.md": partial(played_page, "quick-start.md"),
    "tenants.md": partial(played_page, "tenants.md"),
    "split.md": partial(played_page, "split.md"),
    "secrets.md": partial(played_page, "secrets.md"),
    "first-fleet.md": partial(live_page, "first-fleet.md"),
    "many-clusters.md": partial(live_page, "many-clusters.md"),
    "images/pipeline.svg": pipeline_picture,
}
#: Made in one go: all of them read the same schemas.
KINDS = kind_pages()


def write() -> None:
    """Write every generated page."""
    (DOCS / "kinds").mkdir(exist_ok=True)
    for name, text in KINDS.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
