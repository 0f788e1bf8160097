"""The floor of a cold run: the files of a commit read, and libyaml's events of them looked at, in one process.

python -m benchmarks.floor REPOSITORY

Nothing is made of the events. It imports no more than it needs: `benchmarks.scale` measures the whole process.
"""

import subprocess
import sys
import threading

import yaml
from yaml._yaml import CParser


def main() -> None:
    """Read all."""
    git = ["git", "-C", sys.argv[1]]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "main"], capture_output=True, check=True).stdout
    ids = [entry.split(b"\t")[0].split(b" ")[2] for entry in listed.split(b"\0") if entry.endswith(b".yaml")]
    batch = subprocess.Popen([*git, "cat-file", "--batch", "--buffer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    source, sink = batch.stdout, batch.stdin
    assert source is not None
    assert sink is not None

    def feed() -> None:
        sink.write(b"\n".join(ids) + b"\n")
        sink.close()

    threading.Thread(target=feed).start()
    end = yaml.StreamEndEvent
    for _ in ids:
        size = int(source.readline().split()[2])
        get = CParser(source.read(size + 1)).get_event
        while get().__class__ is not end:
            pass
    batch.wait()


if __name__ == "__main__":
    main()
