"""`muster demo`: reconcile the example fleet in a temporary git repository."""

import os
import shutil
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER, Kind
from muster.data.times import format_time, parse_time

if TYPE_CHECKING:
    from git import Repo

#: The example's leases were renewed about this noon; two minutes later one of them has run out.
NOON = parse_time("2026-01-01T12:00:00Z")
AFTER = NOON + timedelta(minutes=2)
#: Names of files and folders of the example, by whose clusters they are about.
_KARMADA = ("member-*", "remedies", "ingresses", "multiclusteringresses")
_OTHERS = (
    *("prod-*", "stage-*", "edge-*", "joining-*", "new-*", "retired-*"),
    *("sets", "placements", "projections", "pools", "policies", "derived"),
)

#: What the demo leaves out, by what it shows.
_LEFT_OUT: dict[str, tuple[str, ...]] = {"ocm": _KARMADA, "karmada": _OTHERS, "all": ()}
#: What to try afterwards.
_NEXT = (
    "muster plan --now {later}       # six minutes of silence: most go dark, and what is held back",
    "muster reconcile --now {later}  # and commit it; a second time commits nothing",
    "cat clusters/ap/prod-ap-2/cluster.yaml          # why this one: the comment says what was going on",
    "cat derived/managedclusters/prod-ap-2.yaml      # what muster decided about it",
    "sed -i s/hubAccepts/hubAcepts/ clusters/ap/joining-ap-1/cluster.yaml && muster validate",
)
_KARMADA_NEXT = (
    "muster explain cluster/member-us-1 --now {now}  # why it has no traffic",
    "cat remedies/dns-down.yaml                      # the Remedy that decided it",
    "muster get multiclusteringresses -o yaml --now {now}",
)


@click.command()
@click.option("--dir", "directory", type=click.Path(path_type=Path), help="Where to put the repository.")
@click.option(
    "--show",
    type=click.Choice(list(_LEFT_OUT)),
    default="ocm",
    show_default=True,
    help="Which clusters: ManagedClusters of Open Cluster Management, Clusters of Karmada with Remedies and"
    " traffic, or all.",
)
def command(directory: Path | None, show: str) -> int:
    """Copy the example fleet into a temporary git repository, reconcile it, and show what happened."""
    folder = directory or Path(tempfile.mkdtemp(prefix="muster-demo-"))
    repo = folder / "fleet"
    if repo.exists():
        raise click.UsageError(f"{repo} exists already; give another --dir.")
    made = _copy_example(repo, _LEFT_OUT[show])
    kind = KARMADA_CLUSTER if show == "karmada" else MANAGED_CLUSTER
    _say("A fleet is a git repository", f"The example fleet is in {repo}, committed as of {format_time(NOON)}.")
    click.echo(made.git.log(oneline=True))
    _say("Two minutes later", f"$ muster reconcile --now {format_time(AFTER)}")
    code = _reconcile(repo, AFTER)
    _say("What it committed", "$ git log -1 --stat")
    click.echo(made.git.log("-1", stat=True, format="%h %an%n%n%B"))
    _say("The fleet now", f"$ muster get clusters --now {format_time(AFTER)}")
    _table(repo, AFTER, kind)
    _next(repo, _KARMADA_NEXT if show == "karmada" else _NEXT)
    _page(repo, folder / "page")
    return code


def _copy_example(folder: Path, left_out: tuple[str, ...]) -> "Repo":
    """Copy the example into a repository with one commit. Not its file modes: an installation may be read-only."""
    from git import Repo
    from muster.fleet.bundle import bundle_path
    from muster.git.store.process import LOCATION

    for name in LOCATION & os.environ.keys():  # of a hook's own repository: GitPython can only add variables
        del os.environ[name]
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")  # without the user's hooks and settings

    shutil.copytree(
        bundle_path("fleet-repo-example"),
        folder,
        copy_function=shutil.copyfile,
        ignore=shutil.ignore_patterns(*left_out),
    )
    repo = Repo.init(folder, initial_branch="main")
    with repo.config_writer() as config:
        config.set_value("user", "name", "Fleet Admin")
        config.set_value("user", "email", "admin@example.com")
        config.set_value("commit", "gpgSign", "false")
    repo.git.add(all=True)
    noon = format_time(NOON)
    with repo.git.custom_environment(GIT_AUTHOR_DATE=noon, GIT_COMMITTER_DATE=noon):
        repo.git.commit("--no-verify", message="The fleet at noon")
    return repo


def _reconcile(repo: Path, now: datetime) -> int:
    from muster.features.reconcile.job import reconcile_once

    return reconcile_once(repo, lambda: now, branch=None, remote=None)


def _table(repo: Path, now: datetime, kind: Kind) -> None:
    from muster.cli.columns import rows
    from muster.cli.table import print_table
    from muster.run.evaluate import evaluate

    run = evaluate(repo, now, "HEAD")
    clusters = [body for body in run.objects if body["kind"] == kind.name]
    print_table(*rows(kind.name, clusters, run.now, namespaced=False))


def _next(repo: Path, lines: tuple[str, ...]) -> None:
    _say("What to try next", "")
    if shutil.which("muster") is None:
        click.echo(f'  export PATH="{Path(sys.executable).parent}:$PATH"')
    for line in (f"cd {repo}", *lines):
        click.echo(f"  {line.format(now=format_time(AFTER), later=format_time(AFTER + timedelta(minutes=6)))}")


def _page(repo: Path, page: Path) -> None:
    from muster.cli.options import Source
    from muster.features.page.writing import write_site

    source = Source(repo, None, worktree=False, offline=True, now=AFTER)
    write_site(page, source, forecast=timedelta(hours=1))
    _say("The fleet as a page", f"Open {(page.resolve() / 'index.html').as_uri()} in a browser.")


def _say(title: str, text: str) -> None:
    click.echo(f"\n{click.style(title, bold=True)}")
    if text:
        click.echo(text)
