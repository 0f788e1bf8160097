"""Properties of policies for all possible objects, proved with an SMT solver (z3): rules that never decide, expressions
that can fail, and invariants that do not hold.

An expression becomes a formula over all objects that its types allow (`translate`); a policy becomes formulas of its
outcomes (`rules`); the solver searches for a counterexample (`questions`). There are three answers:

- A counterexample: muster's own evaluator has confirmed it. What it does not confirm is not reported.
- None exists: what the translation does not know may be anything, so there is none for the policy either.
- Not decided: the question is beyond the translation or the solver's limit, which is a number of steps and not a time,
  so that the same policies get the same answers on every machine.

z3 is the extra `prove`; nothing else in muster imports it.
"""
