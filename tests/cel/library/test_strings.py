"""Strings: positions count code points, and cannot be after the end."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
'tacocat'.charAt(7) == '' && 'tacocat'.charAt(3) == 'o'
'tacocat'.indexOf('') == 0 && 'tacocat'.indexOf('', 3) == 3 && 'tacocat'.indexOf('x') == -1
'tacocat'.lastIndexOf('at') == 5 && 'tacocat'.lastIndexOf('a', 3) == 1 && 'ab'.lastIndexOf('') == 2
'hello'.replace('l', 'L', 1) == 'heLlo' && 'ab'.replace('', '-') == '-a-b-' && 'aa'.replace('a', 'b', 0) == 'aa'
'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('', 2) == ['a', 'bc']
'a,b'.split(',', 0) == [] && 'a,b'.split(',', -1) == ['a', 'b']
'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'ab'.substring(2) == ''
'\\u2003 x \\u3000'.trim() == 'x' && '\\u200bx'.trim() == '\\u200bx'
['a', 'b'].join('-') == 'a-b' && [].join() == ''
'TacoÆ'.lowerAscii() == 'tacoÆ' && 'tacoæ'.upperAscii() == 'TACOæ'
'añb'.reverse() == 'bña' && [1, 2].reverse() == [2, 1]
strings.quote('a\\n"b"') == '"a\\\\n\\\\"b\\\\""'
""".strip().splitlines()

FAILS = """
'a'.charAt(2)
'a'.indexOf('a', 2)
'a'.substring(1, 0)
['a', 1].join()
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
