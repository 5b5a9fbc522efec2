"""Files that slow a reader down or break it: metadata, declarations, and words that no switch has."""

from __future__ import annotations

from collections.abc import Iterator

from attacking.besieged import (
    API,
    Besieged,
    Row,
    lead_of,
    make_phase,
    make_season,
    make_team,
    organiser_of,
)

#: A check with hostile metadata may take so many times one without.
MAX_RATIO, LEAST_SECONDS = 4.0, 1.0
SECONDS_OF_DECLARATION = 3.0
REFUSED = range(400, 500)
DEEP, LONG = 20_000, 5_000
DECLARATIONS = {
    "arrays, 20,000 deep": "a = " + "[" * DEEP,
    "tables, 16,000 deep": "a = " + "{a=" * (4 * DEEP // 5),
    "a number of 5,000 digits": "a = " + "9" * LONG,
    "a key of 20,000 parts": "a." * DEEP + "b = 1",
    "a date that is none": "a = 9999-99-99",
    "text that is no UTF-8": "a = '\ud800'".encode("utf-8", "surrogatepass").decode(
        "latin-1"
    ),
}
METADATA = {
    "lists, 1,600 deep": "a: " + "[" * 1600,
    "aliases that grow": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "a number of 5,000 digits": "a: " + "9" * LONG,
    "a tag of Python": "a: !!python/object/apply:os.system ['true']",
}
DATES = {"opens": "2026-05-01 00:00", "closes": "2026-06-01 00:00"}
SWITCHES = ("yes", "on", "y", "banana", "", "2")


def attacks(site: Besieged) -> Iterator[Row]:
    yield from metadata(site)
    yield from declarations(site)
    yield switches(site)


def metadata(site: Besieged) -> Iterator[Row]:
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("metadata")
    phase = make_phase(season, small, small.gold_files())
    lead = lead_of(make_team(season))
    run = {"run": ("run.jsonl", small.run(small.answers(12)))}
    place = f"{API}/phases/{phase.pk}/check/"
    usual = min(site.post(place, lead, {}, run).seconds for _ in range(3))
    for name, text in METADATA.items():
        file = {"metadata": ("ir_metadata.yml", text.encode())}
        answer = site.post(place, lead, {}, {**run, **file})
        yield Row(
            f"metadata of a run: {name}",
            f"{answer.status} after {answer.seconds:.2f} s, without it {usual:.2f} s",
            answer.status in {200, *REFUSED}
            and answer.seconds <= max(LEAST_SECONDS, MAX_RATIO * usual),
        )


def declarations(site: Besieged) -> Iterator[Row]:
    from tests.declared.small_tasks import SMALL_TASKS

    gold = SMALL_TASKS["labels"].gold_files()["gold.jsonl"].encode()
    season = make_season("declarations")
    for name, text in DECLARATIONS.items():
        fields = {"title": "A task", "form": "labels", "declaration": text, **DATES}
        answer = site.post(
            f"{API}/seasons/{season.slug}/declared-tasks/",
            organiser_of(season),
            fields,
            {"file": ("gold.jsonl", gold)},
        )
        yield Row(
            f"the declaration of a task: {name}",
            f"{answer.status} after {answer.seconds:.2f} s",
            answer.status in REFUSED and answer.seconds <= SECONDS_OF_DECLARATION,
        )


def switches(site: Besieged) -> Row:
    """Close a phase with every value that `dry_run` does not have, in address and body."""
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("switches")
    phase = make_phase(season, small, small.gold_files())
    place, organiser = f"{API}/phases/{phase.pk}/close/", organiser_of(season)
    answers = []
    for word in SWITCHES:
        answers.append(site.post(f"{place}?dry_run={word}", organiser, {}).status)
        answers.append(site.post(place, organiser, {"dry_run": word}).status)
        answers.append(site.post(place, organiser, {"dryrun": "true"}).status)
    closes = phase.closes
    phase.refresh_from_db()
    statuses = ", ".join(map(str, sorted(set(answers))))
    return Row(
        f"{len(answers)} requests with a `dry_run` that is none",
        f"{statuses}; the phase {'is open' if phase.closes == closes else 'was closed'}",
        phase.closes == closes and set(answers) <= {400},
    )
