"""The vocabulary of muster: types with almost no behaviour.

Everything above this layer speaks in these words. Nothing here reads a file, a clock or the environment.
"""
