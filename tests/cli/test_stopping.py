"""Ctrl-C and SIGTERM, in the process that they are sent to."""

import signal
from threading import Event

import pytest

from muster.cli.stopping import until_stopped
from muster.git.errors import KilledError


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_the_first_signal_asks_and_the_second_ends_work_that_goes_on(number: int, code: int) -> None:
    stop, woken, done = Event(), Event(), []
    before = signal.getsignal(number)
    with until_stopped(stop, wake=woken.set) as stopped:
        signal.raise_signal(number)
        done.append((stop.is_set(), woken.is_set()))
        signal.raise_signal(signal.SIGINT)
        done.append((False, False))
    assert done == [(True, True)]
    assert stopped.code == code
    assert signal.getsignal(number) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_terminal_interrupts_git_too() -> None:
    def killed() -> None:
        raise KilledError("cat-file", -signal.SIGINT)

    with until_stopped(Event()) as stopped:
        signal.raise_signal(signal.SIGINT)
        killed()
    assert stopped.code == 130
    with pytest.raises(KilledError), until_stopped(Event()):
        killed()
