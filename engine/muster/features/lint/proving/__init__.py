"""What policies can say of any fleet at all, proved with an SMT solver (z3): rules that never decide, expressions that
fail, and invariants that do not hold.

An expression becomes a formula over all objects that its types allow (`translate`); a policy becomes the formulas of
what it says (`rules`); the solver is asked for an object of which it says what it should not (`questions`). Three
answers are possible, and none of them is a guess:

- There is such an object: then muster's own evaluator has said so of it, too. What the solver finds and the evaluator
  does not confirm is not told.
- There is none: what the translation does not know may be anything, so that there is none for the policy either.
- Not decided: the question is beyond the translation, or beyond what the solver may spend. It spends a number of steps
  and no time, so that the same policies get the same answers on every machine.

z3 is the extra `prove`; nothing else of muster imports it.
"""
