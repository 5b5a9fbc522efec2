"""The parent of the queue's processes, told to end."""

import signal

import pytest
from django_q.cluster import Cluster

from tasks.management.commands.qcluster import RepeatedSignalSafeCluster


@pytest.fixture
def handlers():
    before = {
        number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_told_again_while_it_ends_it_goes_on_ending(handlers, monkeypatch):
    ended = []

    def stop(cluster):
        signal.raise_signal(signal.SIGTERM)
        ended.append(cluster)

    monkeypatch.setattr(Cluster, "stop", stop)
    cluster = RepeatedSignalSafeCluster()
    signal.raise_signal(signal.SIGTERM)
    assert ended == [cluster]
