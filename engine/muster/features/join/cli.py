"""`muster join`: what runs an agent in its cluster, or the agents of many."""

import shlex
import sys
from functools import partial
from pathlib import Path

import click

from muster.agents.heartbeat.facts import ADD_ON_NAMESPACE
from muster.agents.join.chart import helm_chart
from muster.agents.join.manifests import EXTRAS, NAME, RESTRICTED, AgentSetup, is_ssh, manifests, port_of, systemd_unit
from muster.cli.documents import yaml_stream
from muster.cli.exits import FINDINGS, FINE
from muster.cli.options import FILE_THERE, FOLDER, repo_option
from muster.cli.outcome import say
from muster.data.agentref import Mandate, is_cluster_name
from muster.data.printable import counted
from muster.features.edits.options import Destination
from muster.version import __version__


@click.command()
@click.option("--cluster", metavar="NAME", help="The agent's cluster.")
@click.option(
    "--table",
    type=FILE_THERE,
    help="Many clusters instead: CSV with a column cluster, perhaps one context (of kubectl), and others that"
    " are labels; or what eksctl, gcloud or az list as JSON. Without --out, print it as CSV.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Write the table's agents and tokens to this directory, and accept its clusters in one commit.",
)
@click.option(
    "--renew",
    metavar="CLUSTERS",
    help="Give these clusters of the table new tokens: names and patterns, separated by commas. The relay"
    " takes the old ones until you run the command without --renew.",
)
@click.option(
    "--max-ended",
    type=click.IntRange(min=0),
    metavar="COUNT",
    help="How many tokens may end, of clusters that the table no longer has.  [default: a tenth of all, at least 2;"
    " none by an empty table]",
)
@click.option("--push", is_flag=True, help="With --out: fetch first, and push the commit.")
@click.option("--relay", metavar="URL", help="The relay that takes the agent's reports over HTTP.")
@click.option("--remote", metavar="URL", help="The repository that the agent pushes to instead.")
@click.option(
    "--with",
    "extras",
    multiple=True,
    type=click.Choice(list(EXTRAS)),
    help=f"What else it does. {'; '.join(f'{name}: {what}' for name, what in EXTRAS.items())}.  Repeatable.",
)
@click.option(
    "--secret",
    default=NAME,
    show_default=True,
    metavar="NAME",
    help="The Secret with the key token; for a repository credentials, or identity and known_hosts for ssh.",
)
@click.option("--own-authority", is_flag=True, help="The Secret has ca.crt, which signed the relay's certificate.")
@click.option("--namespace", default=NAME, show_default=True, metavar="NAME", help="The namespace to make.")
@click.option(
    "--image",
    default=f"muster-agent:{__version__}",
    show_default=True,
    metavar="IMAGE",
    envvar="MUSTER_IMAGE",
    show_envvar=True,
    help="The image of an agent, from a release.",
)
@click.option("--csr", is_flag=True, help="Print the command that asks for a certificate instead.")
@click.option("--chart", type=FOLDER, metavar="DIR", help="Write a Helm chart to this directory instead.")
@click.option("--systemd", is_flag=True, help="Print a systemd unit for a machine beside the cluster instead.")
@repo_option
def command(
    cluster: str | None,
    table: Path | None,
    out: Path | None,
    renew: str | None,
    max_ended: int | None,
    push: bool,
    relay: str | None,
    remote: str | None,
    extras: tuple[str, ...],
    secret: str,
    own_authority: bool,
    namespace: str,
    image: str,
    csr: bool,
    chart: Path | None,
    systemd: bool,
    repo: Path,
) -> int:
    """Print the objects that run an agent in a cluster.

    They are a Namespace at the level restricted, a ServiceAccount with the least rights, a NetworkPolicy and a
    Deployment. You create the Secret; the command prints how. Then see who asks to join: muster get waiting.

    \b
    Examples:
      muster join --cluster c1 --relay https://relay.example.com \\
        | kubectl apply -f -
      muster join --cluster c1 --remote ssh://git.example.com/fleet --systemd
      muster join --table clusters.csv --out ../agents \\
        --relay https://relay.example.com --push
    """
    if (cluster is None) == (table is None):
        raise click.UsageError("give --cluster NAME or --table FILE, and not both.")
    if table is None and (out or renew or push):
        raise click.UsageError("--out, --renew and --push go with --table.")
    if table is not None and out is None:
        if relay or remote or renew or push:
            raise click.UsageError("--table makes agents only with --out DIR, outside of every repository.")
        return _print_table(table)
    if table is not None and (relay is None or remote or own_authority or csr or systemd or chart is not None):
        raise click.UsageError(
            "--table needs --relay URL, and goes without --remote, --own-authority, --csr, --systemd and --chart."
        )
    if cluster is not None and not is_cluster_name(cluster):
        raise click.UsageError(f"{cluster!r} is not a valid name of a cluster: use lower case letters, digits and '-'.")
    if (relay is None) == (remote is None):
        raise click.UsageError("give --relay URL or --remote URL, and not both.")
    if relay is not None and not relay.startswith(("http://", "https://")):
        raise click.UsageError(f"--relay: {relay!r} is no URL such as https://relay.example.com.")
    if own_authority and relay is None:
        raise click.UsageError("--own-authority needs --relay.")
    if sum((csr, systemd, chart is not None)) > 1:
        raise click.UsageError("--csr, --systemd and --chart exclude each other.")
    address = relay or remote or ""
    setup = AgentSetup(
        cluster or "",
        address,
        relay is not None,
        image,
        namespace,
        secret,
        frozenset(extras),
        own_authority,
        port_of(address),
        relay is None and is_ssh(address),
    )
    if table is not None and out is not None:
        mandate = Mandate(renew.split(",") if renew else ())
        return _join_table(table, out, setup, mandate, max_ended, Destination(repo, None, push, "origin"))
    if csr:
        say(shlex.join(["muster", *setup.arguments(".", inside=False), "--identity=./identity"]))
        return 0
    if systemd:
        sys.stdout.write(systemd_unit(setup))
    elif chart is not None:
        for path, text in helm_chart(setup).items():
            (chart / path).parent.mkdir(parents=True, exist_ok=True)
            (chart / path).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(yaml_stream(manifests(setup)))
    for line in _next_steps(setup, systemd=systemd, chart=chart):
        say(line, err=True)
    return 0


def _print_table(path: Path) -> int:
    """Print a table as CSV, also one that a person has yet to change: what a cloud lists may have other names."""
    from muster.features.join.table import TableError, checked, csv_text, read_table

    try:
        rows = read_table(path.read_bytes(), path.name)
    except (OSError, TableError) as error:
        raise click.UsageError(f"--table: {error}") from error
    sys.stdout.write(csv_text(rows))
    try:
        checked(rows, path.name)
    except TableError as error:
        say(*f"{error}".splitlines(), "hint: change these rows before you give the table with --out", err=True)
        return FINDINGS
    return FINE


def _join_table(
    path: Path, folder: Path, setup: AgentSetup, renew: Mandate, max_ended: int | None, into: Destination
) -> int:
    """Write the agents of a table's clusters, and accept these in one commit."""
    from muster.features.edits.accepting import enrol
    from muster.features.join.many import APPLY, TOKENS, TooManyEndError, write_agents
    from muster.features.join.table import TableError, checked, read_table

    place = folder.resolve()
    if inside := next((above for above in (place, *place.parents) if (above / ".git").exists()), None):
        raise click.UsageError(f"--out {folder} is inside the repository {inside}, and tokens must never be in one.")
    try:
        rows = checked(read_table(path.read_bytes(), path.name), path.name)
    except (OSError, TableError) as error:
        raise click.UsageError(f"--table: {error}") from error
    if renew.clusters and not any(row.cluster in renew for row in rows):
        raise click.UsageError("--renew: the table has no such cluster.")
    try:
        written = write_agents(folder, rows, setup, renew, max_ended)
    except TooManyEndError as error:
        raise click.UsageError(f"--table: {error}; --max-ended COUNT allows it.") from error
    except OSError as error:
        raise click.UsageError(f"--out: {error}") from error
    code = into.commit(
        partial(enrol, clusters={row.cluster: row.labels for row in rows}), f"Join {counted(len(rows), 'cluster')}"
    )
    say(f"tokens: {len(written.made)} new, {len(written.renewed)} renewed, {len(written.ended)} ended")
    for cluster in written.ended:
        say(f"{cluster} is no longer in the table; to take it out of the fleet: muster deny {cluster}", err=True)
    say(f"next: give the relay --tokens {folder / TOKENS}, and run {folder / APPLY}", err=True)
    return code


def _next_steps(setup: AgentSetup, *, systemd: bool, chart: Path | None) -> list[str]:
    """What the user does next, as commands."""
    before, install = [], []
    if "addons" in setup.extras and not systemd:
        before = [
            "# first, unless Open Cluster Management made it:",
            f"kubectl create namespace {ADD_ON_NAMESPACE}",
        ]
    if chart is not None:
        release = ["helm", "install", NAME, str(chart), f"--namespace={setup.namespace}", "--create-namespace"]
        level = " ".join(f"{label}={value}" for label, value in RESTRICTED.items())
        install = [shlex.join(release), f"kubectl label namespace {setup.namespace} {level}"]
    if systemd:
        first = (
            f"# put {', '.join(['kubeconfig', *setup.keys])} into /etc/muster/{setup.cluster}, readable by root only"
        )
    else:
        files = " ".join(f"--from-file={key}" for key in setup.keys)
        first = f"kubectl create secret generic {setup.secret} --namespace {setup.namespace} {files}"
    notes = ["# identity: a private key without a passphrase that may push; known_hosts: see ssh-keyscan(1)"]
    return [
        *before,
        "# then, in the cluster:",
        *install,
        *(notes if setup.ssh else ()),
        first,
        *(_rights(setup, systemd=systemd) if "works" in setup.extras else ()),
        "# then, in the fleet's repository:",
        "muster get waiting",
        f"muster accept {setup.cluster}",
    ]


def _rights(setup: AgentSetup, *, systemd: bool) -> list[str]:
    """How to let the agent apply works: by default it may not."""
    works, executor = (f"{NAME}-{name}:{setup.namespace}" for name in ("works", "executor"))
    role = f"kubectl create role {executor} --namespace=NAMESPACE"
    account = f"--serviceaccount={setup.namespace}:{NAME}"
    if systemd:
        return [
            f"# let the kubeconfig's user list ConfigMaps in the namespace {setup.namespace}, and get, create,",
            "# patch and delete these and what its works have",
        ]
    return [
        "# the agent may not apply anything yet: grant get, create, patch and delete on what its works have, such as",
        f"kubectl create rolebinding {works} --namespace=NAMESPACE --clusterrole=edit {account}",
        "# or, for works with an executor, the right to act as that service account and nothing else",
        f"{role} --verb=impersonate --resource=serviceaccounts --resource-name=NAME",
        f"kubectl create rolebinding {executor} --namespace=NAMESPACE --role={executor} {account}",
    ]
