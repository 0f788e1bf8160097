"""`muster join --table`: agents, tokens and acceptance of many clusters, from CSV or from what a cloud lists."""

import hashlib
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.features.pulses.test_walkthrough import cluster
from tests.support.commandline import Run, muster
from tests.support.git import Repo, new_repository

__all__ = ["muster"]  # a fixture
TABLE = """\
cluster,context,region,cluster.open-cluster-management.io/clusterset
eu-1,kind-eu,eu,prod
us-1,,us,
old,,eu,
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"all.yaml": cluster("old"), "README.md": "x\n"})
    (tmp_path / "clusters.csv").write_text(TABLE)
    return repo


def join(muster: Run, repo: Repo, *more: str) -> tuple[int, str, str]:
    folder = repo.path.parent
    return muster(
        "join",
        "--table",
        folder / "clusters.csv",
        "--out",
        folder / "out",
        "--repo",
        repo.path,
        "--relay",
        "https://relay.example",
        *more,
    )


def digests(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in (folder / "out/relay_tokens").read_text().splitlines():
        found.setdefault(line.split()[0], set()).add(line.split()[1])
    return found


def digest(folder: Path, name: str) -> str:
    return hashlib.sha256((folder / "out" / name / "token").read_text().strip().encode()).hexdigest()


def test_agents_tokens_and_one_commit(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    before = fleet.git("rev-parse", "HEAD")
    code, out, err = join(muster, fleet)
    assert code == 0, err
    assert fleet.git("rev-parse", "HEAD^") == before
    assert "Join 3 clusters" in out
    assert "tokens: 3 new, 0 renewed, 0 ended" in out
    assert f"run {tmp_path}/out/apply_all.sh" in err
    commands = (tmp_path / "out/apply_all.sh").read_text().splitlines()[4:]
    assert os.access(tmp_path / "out/apply_all.sh", os.X_OK)
    assert commands[0] == "kubectl --context=kind-eu apply --filename eu-1/agent.yaml || status=1"
    assert commands[1].startswith("echo 'us-1 has no context in the table; ")
    made = yaml.safe_load((fleet.path / "clusters/eu-1/cluster.yaml").read_text())
    assert made["metadata"]["labels"] == {"region": "eu", "cluster.open-cluster-management.io/clusterset": "prod"}
    assert made["spec"] == {"hubAcceptsClient": True}
    (old,) = yaml.safe_load_all((fleet.path / "all.yaml").read_text())
    assert (old["metadata"]["labels"]["region"], old["spec"]["hubAcceptsClient"]) == ("eu", True)
    assert digests(tmp_path) == {name: {digest(tmp_path, name)} for name in ("eu-1", "us-1", "old")}
    objects = {body["kind"]: body for body in yaml.safe_load_all((tmp_path / "out/us-1/agent.yaml").read_text())}
    assert "--cluster=us-1" in objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    secret = objects["Secret"]
    assert (secret["metadata"]["namespace"], [*secret["data"]]) == ("muster-agent", ["token"])
    private = (tmp_path / "out/us-1/agent.yaml", tmp_path / "out/us-1/token", tmp_path / "out/relay_tokens")
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_agents_that_cannot_be_applied_are_said(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    (tmp_path / "clusters.csv").write_text("cluster\nus-1\n")
    join(muster, fleet)
    done = subprocess.run([tmp_path / "out/apply_all.sh"], capture_output=True, text=True, check=False)
    said = "us-1 has no context in the table; in its cluster: kubectl apply --filename us-1/agent.yaml\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_a_second_run_changes_nothing_and_renewing_keeps_the_old_token_for_a_while(
    muster: Run, fleet: Repo, tmp_path: Path
) -> None:
    join(muster, fleet)
    with (tmp_path / "out/relay_tokens").open("a") as file:
        file.write(f"alerts {'0' * 64} *\n# a comment\n")
    files = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*/*")}
    first = digest(tmp_path, "eu-1")
    assert "nothing to do" in join(muster, fleet)[1]
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*/*")} == files
    assert "1 renewed" in join(muster, fleet, "--renew", "eu-*")[1]
    second = digest(tmp_path, "eu-1")
    assert digests(tmp_path)["eu-1"] == {first, second}
    assert len(digests(tmp_path)["us-1"]) == 1
    assert join(muster, fleet, "--renew", "ue-*")[0] == 2  # a slip: the old token is not ended for it
    assert digests(tmp_path)["eu-1"] == {first, second}
    (tmp_path / "clusters.csv").write_text(TABLE.replace("us-1,,us,\n", ""))
    _, out, err = join(muster, fleet)
    assert "tokens: 0 new, 0 renewed, 1 ended" in out
    assert "muster deny us-1" in err
    assert digests(tmp_path).keys() == {"eu-1", "old", "alerts", "#"}  # collectors' lines and comments stay
    assert digests(tmp_path)["eu-1"] == {second}
    assert not (tmp_path / "out/us-1/token").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"cluster,region\nA b,eu\nc1,e u\nc1,eu\n", "t.csv:2: 'A b' is not a valid name"),
        (b"cluster,region\nA b,eu\nc1,e u\nc1,eu\n", "t.csv:3: region=e u is not a valid label"),
        (b"cluster,region\nA b,eu\nc1,e u\nc1,eu\n", "t.csv:4: c1 is in line 3, too"),
        (b"name\nc1\n", "t.csv:1: no column 'cluster'"),
        (b"cluster,a,a\n", "t.csv:1: each column needs a name of its own"),
        (b"cluster,a\nc1\n", "t.csv:2: 1 cells, and 2 columns"),
        (b'cluster\n"c1\n', "t.csv:2: unexpected end of data"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "not JSON"),
        (b'[{"kind": "x"}]', "item 1 is of none of these listings"),
        (b"cluster,x/y/z\nc1,1\n", "x/y/z=1 is not a valid label"),
        (b"cluster\n../../c1\n", "'../../c1' is not a valid name"),
    ],
)
def test_what_is_wrong_with_a_table(muster: Run, fleet: Repo, tmp_path: Path, table: bytes, message: str) -> None:
    before = fleet.git("rev-parse", "HEAD")
    (tmp_path / "t.csv").write_bytes(table)
    code, _, err = muster(
        "join",
        "--table",
        tmp_path / "t.csv",
        "--out",
        tmp_path / "out",
        "--repo",
        fleet.path,
        "--relay",
        "https://r.example",
    )
    assert (code, message in err) == (2, True), err
    assert (fleet.git("rev-parse", "HEAD"), (tmp_path / "out").exists()) == (before, False)


@pytest.mark.parametrize("more", [("--relay", "https://r"), ("--push",), ("--renew", "c1")])
def test_without_a_folder_there_are_no_agents(muster: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_text("cluster\nc1\n")
    code, out, err = muster("join", "--table", tmp_path / "t.csv", *more)
    assert (code, out, "only with --out DIR" in err) == (2, "", True), err


@pytest.mark.parametrize("more", [(), ("--remote", "https://r"), ("--relay", "https://r", "--systemd")])
def test_a_table_is_for_a_relay(muster: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_text("cluster\nc1\n")
    code, _, err = muster("join", "--table", tmp_path / "t.csv", "--out", tmp_path / "out", *more)
    assert (code, "--table needs --relay URL" in err) == (2, True), err


@pytest.mark.parametrize(
    ("text", "table", "said"),
    [
        (
            "cluster,region\nA b,eu\nc1,e u\nc1,eu\n",
            "cluster,context,region\nA b,,eu\nc1,,e u\nc1,,eu\n",
            ["t.csv:2", "t.csv:3", "t.csv:4", "hint"],
        ),
        (
            '[{"Name": "Prod\\u001b[2J_EU", "Region": "eu-west-1"}]',
            "cluster,context,cloud,region\nProd\\x1b[2J_EU,,eks,eu-west-1\n",
            ["t.csv:1", "hint"],
        ),
    ],
)
def test_a_table_that_cannot_be_used_yet_is_printed_with_what_to_change(
    muster: Run, tmp_path: Path, text: str, table: str, said: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(text)
    code, out, err = muster("join", "--table", tmp_path / "t.csv")
    assert (code, out) == (1, table)
    assert [line.partition(": ")[0] for line in err.splitlines()] == said
    assert "is not a valid name of a cluster" in err


def test_a_listing_that_failed_ends_no_tokens(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    (tmp_path / "clusters.csv").write_text("cluster\n" + "".join(f"c{n:02}\n" for n in range(30)))
    assert join(muster, fleet)[0] == 0
    before, tip = digests(tmp_path), fleet.tip()
    for rows, most in (("", 0), ("".join(f"c{n:02}\n" for n in range(26)), 3)):
        (tmp_path / "clusters.csv").write_text("cluster\n" + rows)
        code, _, err = join(muster, fleet)
        assert (code, "of 30 tokens would end; --max-ended COUNT allows it." in err) == (2, True), most
        assert (digests(tmp_path), fleet.tip()) == (before, tip)
    assert "4 ended" in join(muster, fleet, "--max-ended", "4")[1]


def test_nor_does_an_empty_table_end_the_last_two(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    (tmp_path / "clusters.csv").write_text("cluster\na\nb\n")
    assert join(muster, fleet)[0] == 0
    before = digests(tmp_path)
    (tmp_path / "clusters.csv").write_text("cluster\n")
    code, _, err = join(muster, fleet)
    assert (code, "2 of 2 tokens would end" in err) == (2, True)
    assert digests(tmp_path) == before


def test_who_was_denied_stays_denied(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    assert join(muster, fleet)[0] == 0
    assert muster("deny", "eu-1", "--repo", fleet.path)[0] == 0
    tip = fleet.tip()
    assert join(muster, fleet)[0] == 0
    assert fleet.tip() == tip
    assert yaml.safe_load((fleet.path / "clusters/eu-1/cluster.yaml").read_text())["spec"]["hubAcceptsClient"] is False


def test_tokens_are_never_written_into_a_repository(muster: Run, fleet: Repo, tmp_path: Path) -> None:
    code, _, err = muster(
        "join",
        "--table",
        tmp_path / "clusters.csv",
        "--out",
        fleet.path / "clusters/new",
        "--repo",
        fleet.path,
        "--relay",
        "https://r.example",
    )
    assert (code, "tokens must never be in one" in err) == (2, True)


def test_listings_of_clouds_become_a_table(muster: Run, tmp_path: Path) -> None:
    """The shapes that `eksctl`, `gcloud` and `az` document; an Excel's CSV is one, too."""
    listings = {
        "eks": [{"Name": "Shop", "Region": "eu-west-1", "Owned": "True"}],
        "gke": [
            {
                "name": "shop",
                "location": "europe-west3",
                "status": "RUNNING",
                "resourceLabels": {"env": "prod"},
                "selfLink": "https://container.googleapis.com/v1/projects/acme/locations/europe-west3/clusters/shop",
            }
        ],
        "aks": [
            {
                "name": "shop",
                "location": "westeurope",
                "resourceGroup": "fleet",
                "id": "/subscriptions/0/resourcegroups/fleet/providers/Microsoft.ContainerService/...",
            }
        ],
    }
    rows = {
        "eks": "Shop,,eks,eu-west-1",
        "gke": "shop,gke_acme_europe-west3_shop,gke,europe-west3",
        "aks": "shop,shop,aks,westeurope",
    }
    for name, listing in listings.items():
        (tmp_path / "list.json").write_text(json.dumps(listing))
        assert muster("join", "--table", tmp_path / "list.json")[1] == f"cluster,context,cloud,region\n{rows[name]}\n"
    (tmp_path / "list.csv").write_bytes("\ufeffcluster;region\r\nc1;eu\r\n\r\n".encode())
    assert muster("join", "--table", tmp_path / "list.csv")[1] == "cluster,context,region\nc1,,eu\n"
