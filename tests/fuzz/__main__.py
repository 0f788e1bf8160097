"""Coverage-guided fuzzing of one target for so many seconds: `python -m tests.fuzz TARGET SECONDS [FOLDER]`.

FOLDER keeps the inputs that reached something new, from one run to the next. Ends with another code than 0 where the
target raised, took longer than ten seconds for one input, or more than a GiB of memory; the input lies in FOLDER then.
"""

import importlib
import sys
import tempfile
from pathlib import Path

import atheris

_MODULES = (
    "muster.data.yaml",
    "muster.fleet",
    "muster.cel",
    "muster.features.plan.planfile",
    "muster.run.memo.state",
    "muster.git.journal",
    "muster.git.memory.pulses",
    "muster.git.agents.relays",
    "muster.agents.hub.protocol",
    "muster.agents.identity",
    "muster.rules.policies.csr",
)


def main(name: str, seconds: str, folder: str = "") -> None:
    """Fuzz until the time is over."""
    with atheris.instrument_imports(include=[*_MODULES]):
        targets = importlib.import_module("tests.fuzz.targets")
        target = targets.TARGETS[name]
    with tempfile.TemporaryDirectory() as seeds, tempfile.TemporaryDirectory() as anywhere:
        for number, seed in enumerate((*targets.NASTY, *target.seeds())):
            Path(seeds, str(number)).write_bytes(seed)
        kept = Path(folder or anywhere)
        kept.mkdir(parents=True, exist_ok=True)
        atheris.Setup(
            [
                "fuzz",
                str(kept),
                seeds,
                f"-max_total_time={seconds}",
                "-timeout=10",
                "-rss_limit_mb=1024",
                "-max_len=16384",
                f"-artifact_prefix={kept}/",
                "-print_final_stats=1",
                "-verbosity=0",
            ],
            target.eat,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
