"""Redis that goes away: pages go on, limits are still counted, and it is used again once it is back."""

import pytest
from redis.exceptions import ConnectionError as NoRedis

from citeboard.core import caches
from citeboard.core.caches import RedisFallbackCache

LIMITS = {"BACKEND": "citeboard.core.caches.RateLimitCache"}
OWN = {
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "LOCATION": "stands-in",
}


def cache(instead: dict) -> RedisFallbackCache:
    made = RedisFallbackCache(
        "redis://127.0.0.1:1/0",
        {"KEY_VARIABLE_PREFIX": "test", "OPTIONS": {"instead": instead}},
    )
    made._instead.clear()
    return made


def test_what_a_site_without_redis_uses_stands_in():
    found = cache(OWN)
    assert found.get("ranks", "nothing") == "nothing"
    found.set("ranks", [1, 2], 60)
    assert found.get("ranks") == [1, 2]
    assert found.get_many(["ranks", "others"]) == {"ranks": [1, 2]}
    assert found.delete("ranks")


@pytest.mark.both_databases
@pytest.mark.django_db
def test_attempts_are_counted_by_the_database_meanwhile():
    found = cache(LIMITS)
    assert found.add("attempts", 1, 60)
    assert not found.add("attempts", 1, 60)
    assert found.incr("attempts") == 2
    with pytest.raises(ValueError, match="no number"):
        found.incr("others")


def test_it_is_asked_again_only_after_a_pause(monkeypatch):
    found, asked, now = cache(OWN), [], [100.0]

    def answer(key, default=None, version=None):
        asked.append(key)
        if len(asked) == 1:
            raise NoRedis("refused")
        return "from Redis"

    monkeypatch.setattr(found._redis, "get", answer)
    monkeypatch.setattr(caches.time, "monotonic", lambda: now[0])
    assert [found.get("a"), found.get("a")] == [None, None]
    assert len(asked) == 1
    now[0] += caches.REDIS_RETRY_SECONDS
    assert found.get("a") == "from Redis"
