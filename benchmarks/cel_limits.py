"""What the worst expressions take that the limit allows: `python -m benchmarks.cel_limits [--only TEXT] [--seconds S]`.

Every row of the table is an expression that makes one operator or function do as much as it can for the units it pays:
long texts, lists that share their parts, patterns, errors in loops. Each runs in a process of its own, at the limit of
one expression, and may take `--seconds` of CPU and `--megabytes` of memory; what is over either is marked, and the
program then ends with 1. Nothing is timed in the tests: those hold units against work that is counted
(`tests/cel/runtime/test_budget.py`).
"""

import argparse
import multiprocessing
import resource
import sys
import time
from datetime import UTC, datetime
from functools import cache
from typing import Any

from muster import cel
from muster.cel.runtime.budget import EXPRESSION_LIMIT

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)


def shared(levels: int, leaf: Any) -> Any:
    """Return a list that has itself twice at every level: small in memory, 2 ** levels long when it is walked."""
    value = leaf
    for _ in range(levels):
        value = [value, value]
    return value


def shared_map(levels: int) -> Any:
    """Return a map that has itself twice at every level."""
    value: Any = {"a": 1}
    for _ in range(levels):
        value = {"a": value, "b": value}
    return value


@cache
def data() -> dict[str, Any]:
    """Return the variables: big, long and shared things, and ranges to loop over.

    Made once, by whoever evaluates and not by who borrows the expressions; the processes that evaluate are forked.
    """
    return {
        "n": list(range(100_000)),
        "l": list(range(1000)),
        "big": list(range(1_000_000)),
        "s": "a" * 100_000,
        "long": "ab" * 1_000_000,
        "long2": "ab" * 999_999 + "ac",
        "wide": "é" * 100_000 + "🜚",
        "short": "a" * 60,
        "texts": [f"text-{number}" for number in range(100_000)],
        "pair": shared(40, 1),
        "other": shared(40, 1),
        "maps": shared_map(40),
        "others": shared_map(40),
        "map": {f"key-{n}": n for n in range(100_000)},
        "numbers": {n: n for n in range(100_000)},
        "mixed": "".join("ab"[n * n % 7 % 2] for n in range(100_000)),
        "dates": [f"2026-01-01T{h:02}:{m:02}:{s:02}Z" for h in range(24) for m in range(60) for s in range(60)],
        "precise": [f"2026-01-01T00:00:00.{n:09}Z" for n in range(10_000)],
        "deep": shared(500, 1),
        "now": NOW,
        "copies": [f"{'x' * 10_000}{n % 7}" for n in range(1_000)],
        "raw": b"x" * 100_000,
        "one": {"a": {"b": 1}},
    }


TABLE = r"""
n.all(a, l.all(b, true)) ~ n.all(a, l.all(b, a + b >= 0)) ~ n.map(a, l.map(b, b)).size()
n.map(a, l.filter(b, b > 1)) ~ n.all(a, l.exists(b, b.x == 1) || true) ~ n.all(a, l.exists(b, x == 1) || true)
n.exists(a, l.exists(b, b < 'x')) ~ n.exists(a, one.nothing == a) ~ n.exists(a, l.exists(b, map.nothing == b))
n.all(a, l.exists(b, [b][1] == 1) || true) ~ n.all(a, l.all(b, one.a.b == 1))
n.all(a, l.all(b, one['a']['b'] == 1)) ~ n.all(a, l.all(b, n[b] == b)) ~ n.map(a, l.map(b, {'a': b}))
n.map(a, l.map(b, {b: b, b + 1: b})) ~ n.map(a, l.map(b, [b, [b]])) ~ n.map(a, l.map(b, {}))
n.map(a, l.map(b, [b, b, b, b, b, b, b])) ~ n.map(a, l.map(b, {'a': 1, 'b': 2, 'c': 3})) ~ n.map(a, l.map(b, []))
n.transformMap(k, v, v).size() + n.transformMap(k, v, map.size()).size() ~ l.map(a, n.transformMap(k, v, v))
l.map(a, n.transformMapEntry(k, v, {string(k): v})) ~ n.all(i, v, n.all(j, w, i <= w))
n.exists_one(a, l.exists_one(b, true)) ~ n.all(a, map.all(k, k != '')) ~ n.all(a, map.all(k, v, v >= 0))
n.all(a, map.exists(k, v, false) || true) ~ pair == other ~ pair != other ~ maps == others ~ pair in [other]
l.all(a, pair == other) ~ {'a': pair} == {'a': other} ~ [pair].distinct() ~ [pair, other].distinct()
sets.contains([pair], [other]) ~ sets.equivalent([pair], [other]) ~ sets.intersects([pair], [other])
'%s'.format([pair]) ~ '%s'.format([maps]) ~ pair.flatten(40).size() ~ deep == deep ~ [pair].indexOf(other)
[pair].lastIndexOf(other) ~ l.map(a, pair).distinct() ~ l.map(a, maps).distinct() ~ maps in [others]
l.map(a, l.map(b, [b])).distinct().size() ~ l.map(a, n.distinct()) ~ l.map(a, texts.distinct())
l.map(a, copies.distinct())
n.map(a, [a % 2 == 0 ? -1 : -2, a / 2 % 2 == 0 ? -1 : -2, a / 4 % 2 == 0 ? -1 : -2]).distinct()
l.map(a, l.map(b, double(b) / 7.0).distinct()) ~ n.map(a, timestamp(a)).distinct().size()
n.map(a, duration('1s')).distinct() ~ sets.contains(n, n) ~ sets.intersects(texts, n)
sets.equivalent(texts, texts) ~ sets.contains(l.map(a, [a]), l.map(a, [a]))
l.all(a, sets.contains(copies, copies)) ~ l.all(a, a in n) ~ l.all(a, 'x' in texts) ~ l.all(a, 1.5 in n)
l.all(a, [1] in n) ~ l.all(z, l.all(a, 'y' in map)) ~ n.all(a, l.all(b, b in numbers))
l.all(a, copies[0] in copies) ~ n.all(a, l.all(b, 1.0 in numbers)) ~ l.all(z, l.all(a, long == long2))
l.all(z, l.all(a, long < long2)) ~ l.all(z, l.all(a, long.startsWith(long2)))
l.all(z, l.all(a, long.endsWith(long2)))
cel.bind(p, long + 'a', cel.bind(q, long + 'b', n.all(a, n.all(b, p < q && p != q))))
l.all(z, l.all(a, long >= long2 || true))
cel.bind(p, long + 'a', cel.bind(q, long + 'b', n.all(a, n.all(b, q.startsWith(p) || q.contains(p) || true))))
l.all(z, l.all(a, s.contains('b') || true)) ~ l.all(z, l.all(a, s.contains('a' + 'b') || true))
l.all(z, l.all(a, s.indexOf('b') < 0)) ~ l.all(z, l.all(a, s.lastIndexOf('ba') < 0))
l.all(z, l.all(a, s.lastIndexOf('b' + s) < 0))
l.all(z, l.all(a, s.substring(0, 50000).lastIndexOf('b' + s.substring(50100)) < 0))
n.all(a, l.all(b, short.contains('aaaaaaaaaaaaaaaaaaaaaaaaaaaaab') || true))
l.all(z, l.all(a, s.substring(0, 900).contains('aaaaaab') || true))
cel.bind(t, s.substring(0, 1000), cel.bind(p, 'b' + s.substring(0, 400), n.all(a, n.all(b, t.contains(p) || true))))
cel.bind(t, s.substring(0, 20000), cel.bind(p, s.substring(0, 90) + 'b', n.all(a, n.all(b, t.contains(p) || true))))
cel.bind(t, s.substring(0, 20000), cel.bind(p, s.substring(0, 90) + 'b', n.all(a, n.all(b, t.replace(p, '') == t))))
cel.bind(t, s.substring(0, 20000), cel.bind(p, s.substring(0, 90) + 'b', n.all(a, n.all(b, t.split(p).size() == 1))))
cel.bind(a, long + long, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, d + d).size())))
n.map(a, long + long).size() ~ n.map(a, wide + wide).size() ~ n.map(a, big + [1]).size() ~ n.map(a, n + n).size()
cel.bind(a, big + big, cel.bind(b, a + a, cel.bind(c, b + b, c + c))).size() ~ lists.range(9000000).size()
n.map(a, lists.range(1000)).size() ~ n.map(a, lists.range(10)).size()
lists.range(3000000).map(a, string(a)).size() ~ n.all(a, l.map(b, string(b)).join('').size() > 0)
n.map(a, texts.join('')).size() ~ n.map(a, texts.join(s)) ~ l.map(a, copies.join('x'))
n.map(a, s.replace('a', 'aaaa')).size() ~ n.map(a, wide.replace('é', '🜚🜚')).size() ~ s.replace('', s)
n.map(a, l.map(b, short.replace('a', 'bb'))) ~ n.map(a, s.split('')).size() ~ n.map(a, wide.split('')).size()
n.map(a, s.split('a')).size() ~ n.map(a, wide.split('é')).size() ~ n.map(a, l.map(b, short.split('a'))).size()
n.map(a, l.map(b, short.split(''))).size() ~ n.map(a, l.map(b, short.split('', 2))).size()
l.all(z, l.all(a, s.lowerAscii() != '')) ~ l.all(z, l.all(a, wide.lowerAscii() != ''))
l.all(z, l.all(a, wide.upperAscii() != '')) ~ n.all(a, l.all(b, short.lowerAscii() != ''))
l.all(z, l.all(a, wide.trim() != '')) ~ l.all(z, l.all(a, s.reverse() != ''))
l.all(z, l.all(a, n.reverse() != [])) ~ l.all(z, l.all(a, s.substring(1) != ''))
l.all(z, l.all(a, strings.quote(s) != '')) ~ l.all(z, l.all(a, strings.quote(wide) != ''))
n.all(a, l.all(b, strings.quote(short) != '')) ~ l.all(z, l.all(a, s.charAt(5) != ''))
n.all(a, l.all(b, short.substring(b % 60) != 'x')) ~ l.all(z, l.all(a, n.slice(1, 99999) != []))
n.all(a, l.all(b, '%d %s %f %e %x'.format([b, b, 1.5, 1.5, b]) != ''))
n.all(a, l.all(b, '%.1000f'.format([1.5]) != '')) ~ l.all(z, l.all(a, '%s'.format([n]) != ''))
l.all(z, l.all(a, '%s'.format([map]) != '')) ~ l.all(z, l.all(a, '%s'.format([texts]) != ''))
l.all(z, l.all(a, ('%%' + s).format([]) != '')) ~ l.all(z, l.all(a, '%x'.format([s]) != ''))
l.all(z, l.all(a, '%s'.format([raw]) != '')) ~ n.all(a, l.all(b, '%s'.format([now]) != ''))
n.all(a, l.all(b, '%s'.format([[[[[b]]]]]) != '')) ~ n.all(a, s.matches('b')) || n.all(a, s.matches('b') || true)
l.all(z, l.all(a, mixed.matches('[ab]*a[ab]{900}c') || true)) ~ l.all(z, l.all(a, s.matches('(a?){1000}b') || true))
l.all(z, l.all(a, mixed.matches('(a|b)*a(a|b){30}c') || true))
l.all(z, l.all(a, mixed.matches('.{1000}c') || true)) ~ l.all(z, l.all(a, 'x'.matches('a' + string(a)) || true))
l.all(z, l.all(a, 'x'.matches('[^x]{900}' + string(a)) || true))
l.all(z, l.all(a, 'x'.matches('(' + string(a)) || true))
l.all(z, l.all(a, 'x'.matches('(\\pL|\\pN){300}' + string(a)) || true))
l.all(z, l.all(a, 'x'.matches('\\pL{1,40}' + string(a)) || true)) ~ n.all(a, l.all(b, 'x'.matches('a') || true))
n.all(a, l.all(b, short.matches('(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)') || true))
l.all(z, l.all(a, s.findAll('.*').size() > 0)) ~ l.all(z, l.all(a, s.findAll('a').size() > 0))
l.all(z, l.all(a, s.findAll('').size() > 0)) ~ s.findAll('a*b|a').size()
n.all(a, l.all(b, short.findAll('a').size() > 0)) ~ mixed.findAll('[ab]*a[ab]{900}c|a').size()
s.findAll('(a)?(a)?(a)?(b)?').size() ~ l.all(z, l.all(a, regex.replace(s, 'a', 'bb') != ''))
regex.replace(s, 'a*b|a', 'b').size() ~ l.all(z, l.all(a, regex.extractAll(s, 'a').size() > 0))
l.all(z, l.all(a, wide.find('🜚') != '')) ~ l.all(z, l.all(a, regex.extract(wide, '🜚').hasValue()))
l.all(z, l.all(a, regex.replace(short, '(a)', s).size() > 0))
n.map(a, ['a', 'b', 'c'].map(b, s.matches(b + '{500}c' + string(a % 200))))
n.all(a, l.all(b, regex.replace(short, 'a', '') == ''))
l.all(z, l.all(a, url('https://example.com/' + string(a)).getHost() != '')) ~ l.all(z, l.all(a, isURL(s)))
n.all(a, l.all(b, isURL('https://a.example/x?y=z')))
l.all(z, l.all(a, url('https://a.example/?' + s).getQuery() != {}))
l.all(z, l.all(a, url('https://a.example/' + wide).getEscapedPath() != ''))
n.all(a, l.all(b, url('https://a.example/?a=b&c=d&e=f').getQuery() != {}))
l.all(z, l.all(a, isURL('https://a.example/' + wide)))
n.all(a, l.all(b, cidr('10.0.0.0/8').containsIP('10.1.2.3')))
n.all(a, l.all(b, cidr('10.' + string(b % 99) + '.0.0/16').masked() == cidr('10.0.0.0/16') || true))
n.all(a, l.all(b, ip('2001:db8::' + string(b % 9999)).isLoopback() || true)) ~ n.all(a, l.all(b, isIP('x') || true))
l.all(z, l.all(a, isIP(s) || isCIDR(s) || true)) ~ n.all(a, l.all(b, ip('::1') == ip('::1')))
n.all(a, l.all(b, cidr('2001:db8::/32').containsCIDR('2001:db8:1::/48'))) ~ n.all(a, l.all(b, isCIDR('10.0.0.0/8')))
n.all(a, l.all(b, now.getHours('Europe/Berlin') >= 0)) ~ n.all(a, l.all(b, now.getFullYear() >= 0))
n.all(a, l.all(b, string(now) != ''))
n.all(a, l.all(b, timestamp(b).getHours('Europe/' + string(b)) >= 0 || true))
n.all(a, l.all(b, timestamp(b).getDayOfYear('Asia/Tokyo') >= 0))
n.all(a, l.all(b, timestamp(b).getHours('+01:' + string(10 + b % 50)) >= 0))
n.all(a, l.all(b, (now - timestamp(b)).getHours() >= 0)) ~ n.all(a, dates.all(d, timestamp(d) < now))
n.all(a, precise.all(d, timestamp(d) < now)) ~ n.all(a, l.all(b, now + duration('1s') > now))
n.all(a, l.all(b, now - duration('1s') > timestamp('2026-01-01T00:00:00Z')))
n.all(a, l.all(b, (now - timestamp(b)) > duration('1h')))
n.all(a, l.all(b, timestamp('2026-01-01T00:00:' + string(10 + b % 50) + 'Z') < now))
n.all(a, l.all(b, timestamp('x' + string(b)) < now || true))
n.all(a, l.all(b, duration(string(b) + 's') >= duration('0s')))
n.all(a, l.all(b, duration('1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms1ms' + string(b) + 's') > duration('0s')))
n.all(a, l.all(b, int(timestamp(b)) >= 0)) ~ n.all(a, l.all(b, string(timestamp(b)) != ''))
n.all(a, l.all(b, string(duration('1.5s')) != '')) ~ precise.map(d, timestamp(d)).sort().size()
l.all(a, precise.map(d, timestamp(d)).max() > now || true)
n.all(a, l.all(b, string(1.1) != '' && string(b) != ''))
n.all(a, l.all(b, double('1.5e' + string(b % 300)) > 0.0)) ~ n.all(a, l.all(b, int('12' + string(b)) > 0))
n.all(a, l.all(b, quantity(string(b) + 'Mi').isGreaterThan(quantity('1k')) || true))
n.all(a, l.all(b, quantity('1e90').add(quantity('1n')).sign() > 0))
n.all(a, l.all(b, semver('1.2.' + string(b)).isLessThan(semver('1.2.3-a.b.c.d.e')) || true))
n.all(a, l.all(b, isSemver('1.2.3-' + short) || true)) ~ n.all(a, l.all(b, isQuantity('x' + short) || true))
l.all(z, l.all(a, isSemver(s) || isQuantity(s) || true)) ~ l.all(z, l.all(a, isSemver('1.2.3+' + s, true) || true))
l.all(a, n.sort().size() > 0) ~ l.all(a, texts.sort().size() > 0) ~ l.all(a, copies.sort().size() > 0)
l.all(a, n.sortBy(b, -b).size() > 0) ~ l.all(a, n.map(b, [b]).sort().size() > 0 || true)
l.all(a, n.sortBy(b, string(b)).size() > 0) ~ n.map(a, 'x' + string(a)).sort().size()
l.all(a, n.map(b, double(b)).sort().size() > 0) ~ l.all(z, l.all(a, n.min() >= 0))
l.all(z, l.all(a, copies.max() != '')) ~ l.all(z, l.all(a, n.sum() > 0)) ~ l.all(z, l.all(a, n.isSorted()))
l.all(z, l.all(a, copies.isSorted() || true)) ~ l.all(z, l.all(a, math.greatest(n) > 0))
l.all(z, l.all(a, math.least(n) >= 0)) ~ n.all(a, l.all(b, math.greatest(1, b, 2, 3, b) > 0))
n.all(a, l.all(b, math.bitShiftLeft(b, 3) >= 0))
n.all(a, l.all(b, math.sqrt(double(b)) >= 0.0 && math.round(1.5) > 1.0)) ~ n.map(a, l.map(b, [b])).flatten(2).size()
n.map(a, n.flatten(1)).size() ~ n.map(a, [n]).flatten().size() ~ l.all(a, n.indexOf(-1) < 0)
l.all(a, texts.indexOf('x') < 0) ~ l.all(a, copies.lastIndexOf('x') < 0)
l.all(a, n.map(b, optional.of(b)).unwrapOpt().size() > 0) ~ n.all(a, l.all(b, optional.of(b).orValue(1) >= 0))
n.all(a, l.all(b, one.?a.?b.orValue(1) == 1)) ~ n.all(a, l.all(b, one.?x.optMap(y, y).hasValue() || true))
l.all(z, l.all(a, base64.encode(raw).size() > 0)) ~ l.all(z, l.all(a, base64.decode(s).size() > 0))
l.all(z, l.all(a, bytes(s) != b'')) ~ l.all(z, l.all(a, string(raw) != ''))
n.all(a, l.all(b, base64.encode(b'abc') != '')) ~ n.all(a, l.all(b, type(b) == int))
n.all(a, l.all(b, dyn(b) == 1u || true)) ~ n.all(a, l.all(b, b in [1, 2u, 3.0])) ~ n.all(a, l.all(b, uint(b) >= 0u))
n.all(a, l.all(b, [b, b + 1].exists(c, c == b))) ~ n.all(a, l.all(b, [[b]] == [[b]]))
n.all(a, l.all(b, {'a': b} == {'a': b})) ~ n.all(a, l.all(b, [1.0, 2.0] == [1, 2]))
n.all(a, l.all(b, cel.bind(c, b + 1, c > b))) ~ n.all(a, l.all(b, b > 0 ? true : b < 1))
n.all(a, l.all(b, has(one.a) && has(one.a.b))) ~ n.all(a, l.all(b, b in {b: b}))
n.all(a, l.all(b, 1 / 0 == b || true)) ~ n.all(a, l.all(b, 9223372036854775807 + b > 0 || true))
n.all(a, l.all(b, int('x') == b || true)) ~ n.all(a, l.all(b, one.a.c == 1 || one.c == 1 || true))
n.all(a, l.all(b, b % 2 == 1 || b / 2 >= 0 || b * 2 > 1)) ~ n.exists(a, l.all(b, b + 1 > b && -b <= 0 && !(b < 0)))
n.map(a, l.all(b, true)) == n.map(a, true) ~ l.all(z, l.all(a, map == map)) ~ l.all(z, l.all(a, n == n))
l.all(z, l.all(a, numbers == numbers)) ~ l.all(z, l.all(a, texts == texts)) ~ n.all(a, map.map(k, k) != [])
l.map(a, map.map(k, {k: k})).size() ~ n.exists(a, s.nothing == a) ~ l.exists(a, map['x' + string(a)] == 1)
n.exists(a, l.exists(b, 'x'.matches('('))) ~ n.exists(a, l.exists(b, timestamp('x') == now))
n.map(a, l.map(b, s + s)[0]).size() ~ n.all(a, l.all(b, 'a' + 'b' + string(b) != ''))
"""


def expressions() -> list[str]:
    """Return the rows of the table, which `~` separates."""
    return [text.strip() for line in TABLE.strip().splitlines() for text in line.split("~")]


def _limited(text: str, out: Any, cpu: int, how: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    program = cel.compile(text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    result = program.run(data(), trace=how == "traced")
    took = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    said = type(result.error).__name__ if result.error else "value"
    out.put((took, grown, result.cost, said))


def measure(text: str, cpu: int, how: str) -> tuple[float, float, int, str]:
    """Return (seconds, megabytes, units, outcome) of one expression, in a process of its own."""
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    data()  # before the child is forked, which would count it
    child = context.Process(target=_limited, args=(text, out, cpu, how))
    child.start()
    child.join()
    if out.empty():
        return float(cpu), 0.0, 0, f"killed ({child.exitcode})"
    found: tuple[float, float, int, str] = out.get()
    return found


def main() -> int:
    """Run the table; print the slowest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--how", choices=["run", "traced"], default="run")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--megabytes", type=float, default=500.0)
    parser.add_argument("--kill", type=int, default=20, help="seconds of CPU after which an expression is ended")
    chosen = parser.parse_args()
    rows = []
    for text in expressions():
        if chosen.only in text:
            rows.append((*measure(text, chosen.kill, chosen.how), text))
            if rows[-1][0] > chosen.seconds or rows[-1][1] > chosen.megabytes:
                print(rows[-1], file=sys.stderr, flush=True)
    rows.sort(key=lambda row: -row[0])
    over = [row for row in rows if row[0] > chosen.seconds or row[1] > chosen.megabytes]
    print(
        f"limit {EXPRESSION_LIMIT:,} units; {len(over)} of {len(rows)} over {chosen.seconds} s or {chosen.megabytes} MB"
    )
    print("seconds      MB        units  outcome")
    for took, grown, cost, said, text in rows:
        print(f"{took:7.2f} {grown:7.0f} {cost:12,}  {said:20} {text}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
