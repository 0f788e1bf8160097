"""The record of runs: what each run that committed was given besides its commit and its instant.

A decision follows from (commit, what agents' refs held, what was remembered, `now`, the version of muster). Agents'
refs are replaced in place, so the commit alone does not tell them. Whoever has the record of a run repeats it byte for
byte: files, messages, findings and horizon.

**Contract.** `reading.heard_at(repository, commit)` returns a `RecordReading`: what was heard by the run that made a
commit, as `Heard`, or why it is not known, as findings: MUS517 if the record is not in this clone, MUS518 if it does
not count. Neither is there for commits of people and for runs that recorded nothing (`Fleet.spec.record.keep: 0s`,
earlier versions). `Heard.refs` and `Heard.remembered` are values of the types that a run gets anyway (`AgentRefs`,
`Remembers`), so a run over a record is the ordinary run: `muster.run.recorded.question_of`. Its agents' refs hold their
contents (`AgentRef.recorded`), and nothing has to be in git's store. Their `commit` is not the id that they had, but
one that changes with the contents; `Heard.commit_of` has the former where it is recorded. `refs.trouble`, `stale`,
`has_remote` and `own` are not recorded: no decision reads them. Nor is the memory of notifications.

**Where.** A record is a tree. Its id stands in the run's commit, in the trailer `Muster-Heard`, under the signature of
that commit if it has one. The tree is in a commit on the branch of the run's day, `refs/muster/heard/<YYYY-MM-DD>` in
UTC, whose parent is the record before it on the same day (`storing`). A clone of the branches lacks these refs: `git
fetch origin 'refs/muster/heard/*:refs/muster/heard/*'` or a mirror has them. It is pushed
with the run's commit, and moves here once that has landed; without a remote it moves first, so that no commit lacks its
record if the run is killed between the two. The refs of days before `Fleet.spec.record.keep` are deleted.

**Form**, version 1. All files are lines of JSON, but for the ages.

* `run.json`: one line, `form.RunFacts`. It names the run's source and instant, so a record fits one commit only.
* `refs/<xx>`: a line for each ref that a run was given, `form.RefRow`, sorted by name, those that did not count
  included, with the reason. `xx` are two hex digits of the SHA-256 of its name, in small fleets fewer, filled with `-`.
  `files` has the data files that were read: the text between renewals, and for each renewal its number among those of
  the ref. What was not read is in `skipped`.
* `ages`: of each renewal (`renewTime`) in the order of the lines, how long it was before the run, in seconds plus 300:
  the low bytes of all, then the high ones; then the fractions of seconds of those that have one, in four bytes each,
  low bytes first.
* `pulses/`: the memory of published pulses, in the form of `refs/muster/pulses`.
* `commits`: the agents' commits of the clusters that the run decided anew, as git stores them, with their signatures
  and their newest renewals: the heartbeats that decided (`heartbeats`). Other commits are not recorded.
* `late`: renewals that came late since the record before, while a process watched.

So a run in which agents only renewed their leases adds a commit, a tree, `run.json` and `ages`, which pack to about a
byte for each cluster and half a kilobyte for each run.

**Trust.** A record is data of others: any account that may push can write one. It counts only if its tree is the one
that the engine's own commit names (`muster.git.enginecommits`) and all of it fits: see `form` and `reading` for the
limits. A run never needs one, and reads none but the last one's blobs, to store them once.
"""
