"""What the live page of a large fleet costs the watch that serves it: each step's processor time, of the process and
all that it starts, what is sent, and memory.

python -m benchmarks.serving REPOSITORY

`REPOSITORY` is bare, its fleet at rest (`benchmarks.scale.derived_fleet`), perhaps with a past
(`benchmarks.histories`); it is changed. A browser that shows the overview asks for what is asked for here.
"""

import http.client
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from benchmarks import fleets
from muster.cli.cache import open_state_of, use_cache
from muster.cli.listening import Freshness
from muster.features.metrics.metrics import Values
from muster.features.watch.http import Access, LiveServer
from muster.features.watch.live import Live
from muster.features.watch.watch import Watcher
from muster.git.repository import open_repository
from muster.net.serving.server import served

_STREAMS = 32


def main() -> None:
    """Measure, print."""
    path = Path(sys.argv[1])
    use_cache(os.environ)
    repository, clock = open_repository(path, os.environ), [fleets.NOON]
    state = open_state_of(os.environ, repository, "main")
    live = Live(repository, "fleet", None, lambda: open_state_of(os.environ, repository, "main"))
    watcher = Watcher(
        repository,
        "main",
        None,
        timedelta(hours=1),
        lambda line: print(f"    {line}", flush=True),
        clock=lambda: clock[0],
        freshness=Freshness(ask=False),
        state=state,
        observers=(live,),
    )
    server = LiveServer(("127.0.0.1", 0), live, Values(time.time, "fleet"), Access())
    with served(server, "live"):
        port = server.server_port
        _told("first look", watcher.look)
        _told("first page", lambda: _page(port))
        _told("the same again", lambda: _page(port))
        _told("a cluster's details", lambda: _asked(port, "/data/clusters/3.js"))
        for count in (1, 100):
            for shown in (False, True):
                clock[0] += timedelta(seconds=10)
                silent = clock[0] - timedelta(seconds=299)
                fleets.commit(
                    path,
                    {
                        f"{fleets.folder_of(n)}/lease.yaml": fleets.lease_text(n, silent)
                        for n in range(count * 2 * count, count * 2 * count + count)
                    },
                )
                _told(f"a look at {count} leases", watcher.look)
                clock[0] += timedelta(seconds=2)
                _told(f"{count} clusters go", watcher.look)
                if shown:
                    live._again_at = 0.0  # no reader is kept waiting here
                    _told("  the page after that", lambda: _page(port))
        streams = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(_STREAMS)]
        before = _memory()

        def listen() -> None:
            for one in streams:
                one.request("GET", "/events")
                one.getresponse().readline()

        _told(f"{_STREAMS} event streams begin", listen)
        _told("  and rest for 30 s", lambda: time.sleep(30))
        print(f"  {threading.active_count()} threads, {_memory() - before:.1f} MiB more")
        for one in streams:
            one.close()


def _page(port: int) -> int:
    return sum(_asked(port, path) for path in ("/", "/data/fleet.js", "/data/availability.js"))


def _asked(port: int, path: str) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    line.request("GET", path)
    size = len(line.getresponse().read())
    line.close()
    return size


def _told(what: str, do: Callable[[], int | None]) -> None:
    spent, began = _spent(), time.perf_counter()
    size = do()
    print(
        f"{what}: {_spent() - spent:.3f} s cpu, {time.perf_counter() - began:.3f} s, {_memory():.0f} MiB"
        + (f", {size / 1e6:.2f} MB" if size else ""),
        flush=True,
    )


def _spent() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _memory() -> float:
    """Of this process now, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
