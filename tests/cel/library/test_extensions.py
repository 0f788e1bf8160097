# ruff: noqa: E501 - one expression per line
"""What the libraries' functions give: expressions that hold, and expressions that have no value."""

import pytest

from muster import cel

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
'%s %d %.2f %e %b %x %X %o %%'.format(['a', 1, 1.005, 1500.0, 5, 'hi', 255, 8]) == 'a 1 1.00 1.500000e+03 101 6869 FF 10 %'
'%s'.format([{'b': [1.5, null], 'a': true}]) == '{a: true, b: [1.5, null]}'
'%s %s'.format([timestamp(0), duration('90m')]) == '1970-01-01T00:00:00Z 5400s'
strings.quote('a\\n"b"') == '"a\\\\n\\\\"b\\\\""'
[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [duration('1s'), duration('2s')].sum() == duration('3s') && [].sum() == 0
[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a' && [1, 2, 2].isSorted() && ![2, 1].isSorted()
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1 && [1.0].indexOf(1) == 0
[1, [2, [3]]].flatten() == [1, 2, [3]] && [1, [2, [3]]].flatten(2) == [1, 2, 3]
[1, 1.0, 1u, true, 'a', 'a', [1], [1.0], {'x': 1}, {'x': 1u}].distinct().size() == 5
[3, 1, 2].sort() == [1, 2, 3] && ['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb'] && [1, 2, 3].slice(1, 3) == [2, 3]
lists.range(3) == [0, 1, 2] && lists.range(0) == [] && [1].first().value() == 1 && ![].last().hasValue()
sets.contains([1, 2.0], [2u]) && sets.equivalent([1, 1], [1u]) && sets.intersects([1], [2, 1]) && !sets.intersects([], [1])
math.greatest(1, 2.5, 2u) == 2.5 && math.least([3, 1]) == 1 && math.abs(-1) == 1 && math.sign(-0.5) == -1.0
math.round(2.5) == 3.0 && math.round(-0.4) == 0.0 && math.trunc(-1.9) == -1.0 && math.ceil(1.1) == 2.0
math.bitShiftRight(-1, 1) == 9223372036854775807 && math.bitShiftLeft(1, 63) == -9223372036854775808
math.bitNot(0u) == 18446744073709551615u && math.bitAnd(6, 3) == 2 && math.sqrt(9) == 3.0 && math.isNaN(math.sqrt(-1))
base64.encode(b'hi') == 'aGk=' && base64.decode('aGk') == b'hi'
'abc123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2'] && 'a1b2'.findAll('[0-9]', 1) == ['1']
regex.replace('a1b2', '([0-9])', '<\\\\1>') == 'a<1>b<2>' && regex.extract('k=v', '=(.)').value() == 'v'
regex.extractAll('a1b2', '[0-9]') == ['1', '2'] && !regex.extract('a', 'b').hasValue()
quantity('1Ki') == quantity('1024') && quantity('500m').add(quantity('0.5')).asInteger() == 1 && isQuantity('1.5Gi')
quantity('2').isGreaterThan(quantity('1500m')) && quantity('1').sub(2).sign() == -1 && !quantity('1m').isInteger()
quantity('1e3').asInteger() == 1000 && quantity('0.5').asApproximateFloat() == 0.5 && !isQuantity('1KiB')
quantity('1E').compareTo(quantity('1000P')) == 0 && type(quantity('1')) == kubernetes.Quantity
semver('1.2.3').compareTo(semver('1.2.3+build')) == 0 && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))
semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('1.0.0-1').isLessThan(semver('1.0.0-a'))
semver('v1.2', true) == semver('1.2.0') && !isSemver('01.2.3') && isSemver('01.2.3', true) && semver('1.2.3').minor() == 2
ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && isIP('::') && !isIP('1.2.3') && !ip.isCanonical('2001:DB8::1')
cidr('10.0.0.7/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16') && isCIDR('::/0')
ip('::ffff:c0a8:1') == ip('192.168.0.1') && ip('::ffff:c0a8:1') != ip('192.168.10.1') && ip('::ffff:c0a8:1').family() == 4
string(ip('::FFFF:c0a8:1')) == '192.168.0.1' && isIP('::ffff:c0a8:1') && !isIP('::ffff:192.168.0.1') && !ip.isCanonical('::ffff:c0a8:1')
cidr('192.168.0.0/24').containsIP('::ffff:c0a8:1') && cidr('::ffff:c0a8:0/120') == cidr('192.168.0.0/24') && !isCIDR('::ffff:c0a8:0/64')
ip('::1:c0a8:1') != ip('192.168.0.1') && ip('::') != ip('::ffff') && !cidr('::/0').containsIP('::ffff:c0a8:1')
cidr('10.0.0.7/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.7/8').ip() == ip('10.0.0.7')
string(cidr('10.0.0.7/8')) == '10.0.0.7/8' && cidr('10.0.0.0/8').prefixLength() == 8 && !isCIDR('10.0.0.0/33')
ip('224.0.0.5').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()
url('https://[::1]:80/p?x=1&x=2').getHostname() == '::1' && url('https://a.b:80/').getPort() == '80' && !isURL('a b')
url('https://a.b/p?x=1&x=2&y=').getQuery() == {'x': ['1', '2'], 'y': ['']} && url('/only/path').getScheme() == ''
optional.of(1).or(optional.of(2)).value() == 1 && optional.none().orValue(3) == 3 && {'a': 1}.?b.orValue(2) == 2
optional.of(2).optMap(x, x * 2).value() == 4 && !optional.of(1).optFlatMap(x, optional.none()).hasValue()
[optional.of(1), optional.none()].unwrapOpt() == [1] && optional.ofNonZeroValue('').hasValue() == false
timestamp('2009-02-13T23:31:30Z').getHours('2:30') == 2 && timestamp('2009-02-13T23:31:30Z').getDayOfYear() == 43
duration('1h30m5.25s').getMinutes() == 90 && duration('5.25s').getMilliseconds() == 250 && duration('-90m').getHours() == -1
""".strip().splitlines()

FAILS = """
'a'.charAt(2)
'a'.indexOf('a', 2)
'a'.substring(1, 0)
'abc'.matches('(')
['a', 1].join()
'%d'.format(['a'])
'%s'.format([])
'%q'.format([1])
[1, 'a'].sort()
[].min()
['a'].sum()
[1].slice(1, 0)
[[1]].flatten(-1)
[{'x': 1}].sort()
math.abs(-9223372036854775808)
math.bitShiftLeft(1, -1)
math.greatest('a')
base64.decode('***')
regex.replace('a', 'a', '\\\\1')
regex.extract('a', '(a)(b)')
quantity('1KiB')
quantity('0.5').asInteger()
quantity('1E').add(quantity('99E')).asInteger()
semver('1.2')
semver('1.2.3').compareTo(quantity('1'))
ip('1.2.3.4.5')
ip('fe80::1%eth0')
ip('::ffff:1.2.3.4')
cidr('::ffff:1.2.3.4/120')
cidr('::ffff:c0a8:0/95')
cidr('10.0.0.0')
cidr('10.0.0.0/08')
url('not a url')
url('http://a:b/')
optional.none().value()
optional.of(1) + 1
timestamp(0).getHours('Mars/Olympus')
duration('1s').getFullYear()
'a'.nosuch()
nosuch(1)
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert cel.compile(expression).evaluate({}) is True


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    with pytest.raises(cel.EvaluationError) as caught:
        cel.compile(expression).evaluate({})
    assert caught.value.message
    assert caught.value.offset is not None
