"""The two user stories of Karmada's remedy proposal (seed 003), from a name server that fails to requests over HTTP.

Everything is real: git repositories, `muster watch`, detectors as processes, `muster export endpoints`, nginx, and the
servers of two clusters behind it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

from tests.agents.detect.servers import dns_server, http_server
from tests.support import ingress as files
from tests.support.git import Repo, clone, new_repository
from tests.support.in_process import muster
from tests.support.nginx import Nginx, needs_nginx, nginx
from tests.support.patience import wait_until
from tests.support.processes import running

pytestmark = needs_nginx

HOST = "shop.example.com"
TYPE = "ServiceDomainNameResolutionReady"
DERIVED = "derived/multiclusteringresses/shop/web.yaml"
#: The detectors damp in these stories; the fleet believes them at once.
FLEET = """
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec:
  policyParams:
    service-domain-name-resolution-ready: {failureThreshold: 0s, successThreshold: 0s}
"""


class World:
    """A shared repository, a person's clone of it, and a load balancer that is told what the fleet says."""

    def __init__(self, hub: Repo, person: Repo, balancer: Nginx) -> None:
        self.hub, self.person, self.balancer = hub, person, balancer

    def commit(self, path: str, content: str | None) -> None:
        """A person commits and pushes; muster may push in between."""
        self.person.commit({path: content})
        wait_until(self._pushed)

    def blocked(self) -> list[str]:
        """The clusters that get no traffic, as the shared repository says."""
        content = self.hub.git("show", f"main:{DERIVED}", check=False)  # empty where there is none yet
        return list(yaml.safe_load(content)["status"].get("trafficBlockClusters", [])) if content else []

    def served_by(self, *clusters: str) -> None:
        """Wait until the repository blocks all other clusters; then exactly these answer requests."""
        others = sorted({"member1", "member2"} - set(clusters))
        wait_until(lambda: self.blocked() == others, lambda: f"blocked: {self.blocked()}, not {others}")
        self.balancer.load(self._exported())
        wait_until(lambda: self.balancer.answers(HOST) == set(clusters))

    def _exported(self) -> str:
        code, out, err = muster(
            "export",
            "endpoints",
            "shop/web",
            "--rev",
            "main",
            "--listen",
            str(self.balancer.port),
            environ=self.hub.environ,
            cwd=self.hub.path,
        )
        assert code == 0, err
        return out

    def _pushed(self) -> bool:
        self.person.git("pull", "--quiet", "--rebase", "origin", "main")
        self.person.git("push", "--quiet", "origin", "main", check=False)
        return self.person.tip() == self.person.git("ls-remote", "origin", "refs/heads/main").split()[0]


@contextmanager
def world(tmp_path: Path) -> Iterator[World]:
    """Two clusters that serve one Service, `muster watch` beside their repository, and nginx in front."""
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = new_repository(tmp_path / "person")
    person.git("remote", "add", "origin", str(hub.path))
    spec = {"rules": [files.rule(HOST, ("/", "Prefix", files.backend("web")))]}
    status = {"serviceLocations": [files.located("web", "member1", "member2")]}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(http_server(name.encode())) for name in ("member1", "member2")}
        slices = {
            f"endpoints/{name}.yaml": files.endpoint_slice(name, "web", [("http", server.port)])
            for name, server in servers.items()
        }
        clusters = {f"clusters/{name}/cluster.yaml": files.cluster(name) for name in servers}
        person.commit({"fleet.yaml": FLEET, "ingress.yaml": files.ingress(spec, status), **clusters, **slices})
        person.git("push", "--quiet", "origin", "main")
        engine = clone(hub, tmp_path / "engine")
        balancer = stack.enter_context(nginx(tmp_path / "nginx"))
        watch = ("watch", "--push", "--interval", "0.2", "--repo", str(engine.path))
        stack.enter_context(running(*watch, environ=engine.environ))
        yield World(hub, person, balancer)


def detecting(hub: Repo, server: str, instance: str) -> tuple[str, ...]:
    """The command line of a detector in member1."""
    return (
        *("detect", "--cluster", "member1", "--condition", TYPE, "--instance", instance, "--remote", str(hub.path)),
        *("--dns", "kubernetes.default.svc.cluster.local", "--dns-server", server),
        *("--detect-period", "0.2", "--detect-failure-threshold", "0.5", "--detect-success-threshold", "0.5"),
        *("--lease-duration", "3"),
    )


def test_story_1_traffic_is_removed_for_an_upgrade(tmp_path: Path) -> None:
    with world(tmp_path) as here:
        here.served_by("member1", "member2")
        here.commit("remedies/upgrade.yaml", files.remedy("upgrade", "member1"))
        here.served_by("member2")
        here.commit("remedies/upgrade.yaml", None)
        here.served_by("member1", "member2")


def test_story_2_traffic_is_removed_while_name_resolution_fails(tmp_path: Path) -> None:
    with world(tmp_path) as here, dns_server() as server:
        here.commit("remedies/dns.yaml", files.remedy("dns", "member1", "member2", condition=TYPE))
        environ = here.hub.environ
        with ExitStack() as stack:
            reporter = stack.enter_context(running(*detecting(here.hub, server.address, "node-1"), environ=environ))
            reporter.wait_for("reported True")  # only now: else either may win
            spare = stack.enter_context(running(*detecting(here.hub, server.address, "node-2"), environ=environ))
            spare.wait_for("node-1 reports")
            here.served_by("member1", "member2")  # as it would be without any report, too
            wait_until(lambda: statuses_by_commit(here.hub) == ["True"])
            server.healthy = False
            here.served_by("member2")
            reporter.kill()  # the spare takes over, and nobody notices
            spare.wait_for("reported False")
            assert here.blocked() == ["member1"]
            server.healthy = True
            here.served_by("member1", "member2")
        assert statuses_by_commit(here.hub) == ["True", "False", "True"]  # renewals made no commit


def test_a_detector_that_dies_gives_no_traffic_back(tmp_path: Path) -> None:
    """Silence is no recovery: the block outlives its detector, and goes with the word of the next one."""
    with world(tmp_path) as here, dns_server() as server:
        here.commit("fleet.yaml", FLEET.replace("successThreshold: 0s", "successThreshold: 0s, staleThreshold: 3s"))
        here.commit("remedies/dns.yaml", files.remedy("dns", "member1", "member2", condition=TYPE))
        server.healthy = False
        with running(*detecting(here.hub, server.address, "node-1"), environ=here.hub.environ) as reporter:
            here.served_by("member2")
            reporter.kill()
        wait_until(lambda: statuses_by_commit(here.hub)[-1:] == ["Unknown"])
        assert here.blocked() == ["member1"]
        server.healthy = True
        with running(*detecting(here.hub, server.address, "node-2"), environ=here.hub.environ):
            here.served_by("member1", "member2")
        assert statuses_by_commit(here.hub)[:3] == ["False", "Unknown", "True"]


def statuses_by_commit(hub: Repo) -> list[str]:
    """The status of the condition of member1 in every commit that changed what is derived of it."""
    path = "derived/clusters/member1.yaml"
    found: list[str] = []
    for commit in hub.git("log", "--reverse", "--format=%H", "main", "--", path).splitlines():
        conditions = yaml.safe_load(hub.show(path, commit)).get("status", {}).get("conditions", [])
        found.extend(condition["status"] for condition in conditions if condition["type"] == TYPE)
    return found
