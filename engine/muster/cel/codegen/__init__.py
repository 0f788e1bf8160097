"""Generated Python code: one function per expression, with its macros as loops.

The source contains only Python literals and names that are made here, never names from the expression. Generated code
raises Python's own errors (a missing key is a KeyError), and catches them where CEL absorbs errors. If an error leaves
the function, `closures` evaluates again to explain it.
"""
