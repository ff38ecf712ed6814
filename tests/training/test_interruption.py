"""Signals that interrupt a training."""

import signal

import pytest

from one2set.training.interruption import catch_signals


def test_a_signal_that_is_sent_twice_is_one_request() -> None:
    with catch_signals() as caught:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert caught == [signal.SIGTERM]


def test_a_second_request_has_its_usual_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("one2set.training.interruption._SAME_REQUEST", 0.0)
    with catch_signals() as caught:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert caught == [signal.SIGINT]


def test_the_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with catch_signals():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
