"""With Redis as the queue a wake may be lost with whoever took it; the row of the job stays the truth."""

import httpx
import pytest
import redis

from citeboard.teams.models import Membership, Token
from tasks.models import Submission
from tests.factories import make_phase, make_task, make_team, other_run
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.proxy import Door
from tests.faults.serving import kill, stopped, until
from tests.faults.uploading import upload
from tests.own_redis import own_redis

pytestmark = [pytest.mark.worker, pytest.mark.slow]


@pytest.fixture
def server(tmp_path):
    with own_redis(tmp_path) as started:
        yield started


@pytest.fixture
def redis_url(server) -> str:
    return server.url


@pytest.fixture
def house(serve, redis_url):
    # A group is started anew that leaves what it could take for the time of a lease, as a busy machine may.
    return serve(only=None, REDIS_URL=redis_url, CITEBOARD_LEASE_SECONDS="30")


@pytest.fixture
def post(house, phase, team):
    """Uploads through the site, whose queue is in Redis; this process's is not."""
    _, token = Token.objects.create_token(
        user=team.memberships.get(role=Membership.Role.LEAD).user, name="test"
    )

    def send(number: int) -> Submission:
        taken = upload(house.port, phase.pk, token, other_run(number))
        assert taken is not None
        return Submission.objects.get(pk=taken)

    return send


@pytest.mark.both_databases
def test_without_redis_runs_are_taken_and_scored_all_the_same(
    serve, server, phase, team
):
    door = Door("127.0.0.1", server.port)
    house = serve(only=None, REDIS_URL=f"redis://127.0.0.1:{door.port}/0")
    lead = team.memberships.get(role=Membership.Role.LEAD).user
    _, token = Token.objects.create_token(user=lead, name="test")
    runs = []
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{house.port}", timeout=60
        ) as site:
            for fault, numbers in ((Door.shut, (1, 2)), (Door.stalled, (3, 4))):
                until(lambda: missing(site) == [], "Redis answers")
                with fault(door):
                    taken = [
                        upload(house.port, phase.pk, token, other_run(number))
                        for number in numbers
                    ]
                    assert None not in taken
                    assert (
                        site.get(f"/api/v1/phases/{phase.pk}/leaderboard/").status_code
                        == 200
                    )
                    assert missing(site) == ["redis"]
                    sent = list(Submission.objects.filter(pk__in=taken))
                    wait_until_settled(*sent)
                runs += sent
        assert_scored_exactly_once(*runs)
        assert "Traceback" not in house.said()
    finally:
        door.close()


def missing(site: httpx.Client) -> list[str]:
    """What a site does without that is ready all the same, with its worker."""
    told = site.get("/health/ready").json()
    assert (told["status"], told["worker"]) == ("ready", "ready")
    return [found["what"] for found in told["missing"]]


def test_redis_killed_while_a_run_is_scored_costs_nothing_and_is_used_again(
    house, post, server
):
    with stopped(house.scorer):
        runs = [post(1)]
        until(
            lambda: runs[0].jobs.filter(state="running").exists(),
            "the first is being scored",
        )
        runs.append(post(2))
        leader = house.leader
        server.kill()
    runs += [post(number) for number in (3, 4)]
    wait_until_settled(*runs)
    server.start()
    with redis.from_url(server.url) as client:
        until(
            lambda: "cmdstat_blpop" in client.info("commandstats"),
            "the group asks Redis again",
        )
    runs.append(post(5))
    wait_until_settled(*runs)
    assert house.leader == leader
    assert {run.jobs.get().attempt for run in runs} == {1}
    assert_scored_exactly_once(*runs)


def test_a_group_that_starts_without_redis_scores_what_waits(serve, send, server):
    server.kill()
    run = send()
    serve(REDIS_URL=server.url)
    wait_until_settled(run)
    assert_scored_exactly_once(run)


def test_groups_take_the_wakes_of_their_own_queues(serve, server, phase):
    """The light group leaves alone what waits for a GPU until a group that has one comes."""
    needs_gpu = make_phase(task=make_task(queue="gpu"))
    house = serve(only=None, REDIS_URL=server.url, CITEBOARD_QUEUES="light")
    light, heavy = (sent_to(house, own) for own in (phase, needs_gpu))
    wait_until_settled(light)
    before = heavy.jobs.get()
    assert (before.state, before.attempt) == ("queued", 0)
    with redis.from_url(server.url) as client:
        until(
            lambda: client.llen("django_q:light:q") == 0,
            "the light group has taken its own wakes",
        )
        assert client.llen("django_q:gpu:q") > 0
    serve(REDIS_URL=server.url, CITEBOARD_QUEUES="models,gpu")
    wait_until_settled(heavy)
    assert_scored_exactly_once(light, heavy)
    assert [owner_of(light) == house.leader, owner_of(heavy) == house.leader] == [
        True,
        False,
    ]


def sent_to(house, phase) -> Submission:
    """A run of another team through the site's own door."""
    team = make_team(season=phase.task.season)
    _, token = Token.objects.create_token(user=team.memberships.get().user, name="test")
    taken = upload(house.port, phase.pk, token, other_run(1))
    assert taken is not None
    return Submission.objects.get(pk=taken)


def owner_of(run: Submission) -> int:
    """The group that has scored it."""
    return int(run.jobs.get().lease_owner.split(":")[1].split(".")[0])


def test_wakes_come_through_redis_and_are_given_again_where_they_are_lost(
    house, post, redis_url
):
    woken = [post(number) for number in range(1, 4)]
    wait_until_settled(*woken)
    assert_scored_exactly_once(*woken)
    assert {run.jobs.get().attempt for run in woken} == {1}
    with stopped(house.scorer):
        forgotten = [post(number) for number in range(4, 7)]
        with redis.from_url(redis_url) as client:
            client.flushall()
    wait_until_settled(*forgotten)
    until(lambda: house.scorer, "a scorer waits")
    # The worker has one, the queue's own processes hold two more, and Redis knows of none of them.
    with stopped(house.scorer):
        dead = [post(number) for number in range(7, 11)]
        until(
            lambda: dead[0].jobs.filter(state="running").exists(),
            "the first is being scored",
        )
        kill(house.leader)
    wait_until_settled(*dead)
    assert_scored_exactly_once(*woken, *forgotten, *dead)
