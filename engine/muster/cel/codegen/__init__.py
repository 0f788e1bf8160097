"""Expressions as generated Python: one function per expression, its macros written out as loops.

Only literals in Python's own notation and names made here reach the source; CEL's names never do. Generated code lets
Python raise what it raises (a missing key is a KeyError) and catches it where CEL absorbs errors; an error that gets
out is explained by `closures`, which evaluates again.
"""
