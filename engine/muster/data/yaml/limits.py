"""How large a file may be. Each limit is far above what fleets need and low enough that the worst file is cheap."""

#: Bytes. A Kubernetes API server takes no request body beyond 3 MiB, so a larger object could not exist.
SIZE = 3 * 1024 * 1024

#: Bytes of one file of a fleet's repository. A file of objects is a few KiB; beyond this it is something else, and is
#: never read. What muster itself writes stays within it.
FILE = 1 << 20

#: Nested mappings and lists. libyaml's work grows with the square of the depth in flow style (200,000 open
#: brackets cost it 38 s), and every walker of a tree recurses. JSON Schemas of live clusters nest about 30 deep.
DEPTH = 64

#: Scalars, mappings and lists in one file: about 0.2 s of reading.
NODES = 200_000

#: Problems that are reported for one file. What lies beyond them is not read.
PROBLEMS = 20
