"""Store digests of the instances in gold, and count the instances that two versions of
gold share.
"""

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q

from citeboard.core import storage
from citeboard.core.confined.limits import ResourceLimits
from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from tasks.gold import packing
from tasks.models import Gold, GoldContent, GoldOverlap, Organiser, Season
from tasks.types import Options, TaskType
from tasks.types.base import OptionRefused
from tasks.types.registry import task_types

GOLD_PACKING_FUNCTION = "tasks.gold.packing:pack_gold_in_sandbox"
#: `COMPARISON_LOCK_NUMBER` is the number of the advisory lock in PostgreSQL for comparisons of gold.
COMPARISON_LOCK_NUMBER = 0x601D
#: `KEYED_DIGEST_BYTES` is the length in bytes of a digest that is keyed with the site's secret.
KEYED_DIGEST_BYTES = 8
#: Gold may be read in the background for WALL_TIME_PER_CPU_TIME times the computing time that it may use.
WALL_TIME_PER_CPU_TIME = 10


def store_gold_digests(gold: Gold, digests: bytes, held: bytes, papers: bytes) -> None:
    """Store digests of the gold, keyed with a secret outside of the database, and count
    the instances that the gold shares with other gold. The caller must open a
    transaction.
    """
    key, key_name = _derive_digest_key_and_name()
    if connection.vendor == "postgresql":
        # Without the lock, simultaneous transactions would miss each other's rows.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [COMPARISON_LOCK_NUMBER])
    own, own_held = (
        _compute_keyed_digest_pairs(digests, key),
        _compute_keyed_digest_pairs(held, key),
    )
    facts = {
        "key": key_name,
        "digests": b"".join(sorted(own)),
        "held": b"".join(sorted(own_held)),
    }
    own_papers = set(_compute_keyed_digests(papers, key))
    facts["papers"] = b"".join(sorted(own_papers))
    season = gold.task.season_id
    organisers = list_organiser_ids_by_season()
    of_new = facts | {"organisers": sorted(organisers.get(season, ()))}
    content, _ = GoldContent.objects.update_or_create(
        gold=gold, defaults=facts, create_defaults=of_new
    )
    # Only gold whose digests have the current key can be compared.
    # Stored results for all other gold stay valid until its digests are recomputed.
    anew = Q(gold=gold, other__content__key=key_name) | Q(
        other=gold, gold__content__key=key_name
    )
    before = {
        (row.gold_id, row.other_id): row for row in GoldOverlap.objects.filter(anew)
    }
    GoldOverlap.objects.filter(anew).delete()
    others = GoldContent.objects.filter(key=key_name).exclude(gold=gold)
    overlaps = []
    own_people = organisers.get(season, frozenset())
    columns = ("gold", "gold__task__season", "organisers", "papers", "digests", "held")
    for other, place, their_organisers, their_papers, *stored in others.values_list(
        *columns
    ).iterator():
        theirs, their_held = (_split_digest_pairs(bytes(kept)) for kept in stored)
        # Names of papers identify papers only within one season.
        their_own = (
            set(_split_digests(bytes(their_papers or b""), KEYED_DIGEST_BYTES))
            if place == season
            else set[bytes]()
        )
        shown_by_both = _select_public_digests(own) & _select_public_digests(theirs)
        counts = {
            "same": len(own & theirs),
            "held": len(own_held & their_held),
            "alike": len(shown_by_both - _select_public_digests(own & theirs)),
            "shown": len(shown_by_both),
            "papers": len(own_papers & their_own),
        }
        pairs = ((gold.pk, other), (other, gold.pk)) if any(counts.values()) else ()
        # The organisers at the time of the uploads must be the same people too.
        # A former organiser must not learn answers of other gold from the comparison.
        are_the_same = own_people == organisers.get(
            place, frozenset()
        ) and own_people.issuperset(content.organisers + their_organisers)
        for first, second in pairs:
            known = before.get((first, second))
            overlap = GoldOverlap(gold_id=first, other_id=second, **counts)
            overlap.binds = place == season or (known.binds if known else are_the_same)
            overlap.is_claimed = known is not None and known.is_claimed
            overlaps.append(overlap)
    GoldOverlap.objects.bulk_create(overlaps)


def list_organiser_ids_by_season() -> dict[int, frozenset[int]]:
    """Return the ids of the organisers of each season, without seasons that have no
    organisers.
    """
    people: dict[int, set[int]] = {}
    rows = Organiser.objects.filter(role=Organiser.Role.ORGANISER).values_list(
        "season", "user"
    )
    for season, user in rows:
        people.setdefault(season, set()).add(user)
    return {season: frozenset(person) for season, person in people.items()}


def end_embargoes_of_other_organisers(season: Season) -> list[int]:
    """End embargoes between the gold of the season and the gold of seasons whose
    organisers are no longer the same people. Return the ids of the seasons whose
    embargoes ended.
    """
    parted = []
    organisers = list_organiser_ids_by_season()
    own = organisers.get(season.pk, frozenset())
    bound = GoldOverlap.objects.filter(binds=True)
    elsewhere = bound.filter(gold__task__season=season).exclude(
        other__task__season=F("gold__task__season")
    )
    for other in (
        elsewhere.values_list("other__task__season", flat=True).order_by().distinct()
    ):
        if organisers.get(other, frozenset()) == own:
            continue
        from_here = Q(gold__task__season=season, other__task__season=other)
        from_there = Q(gold__task__season=other, other__task__season=season)
        bound.filter(from_here | from_there).update(binds=False)
        parted.append(other)
    return parted


def have_all_gold_digests_current_key() -> bool:
    """Return True if all stored digests of instances use the current key of the site.
    Digests can only be compared under the same key.
    """
    return not GoldContent.objects.exclude(
        key=_derive_digest_key_and_name()[1]
    ).exists()


def get_public_instance_digests(gold: Gold) -> set[bytes]:
    """Return keyed digests of the public part (without answers) of each scored
    instance.
    """
    content = GoldContent.objects.filter(
        gold=gold, key=_derive_digest_key_and_name()[1]
    ).first()
    return (
        _select_public_digests(_split_digest_pairs(bytes(content.digests)))
        if content
        else set()
    )


@dataclass(frozen=True)
class Compared:
    same: int
    answered: int
    added: int
    gone: int


def count_instance_changes(before: Gold, after: Gold) -> Compared | None:
    contents = {
        content.gold_id: content
        for content in GoldContent.objects.filter(gold__in=(before, after))
    }
    old, new = contents.get(before.pk), contents.get(after.pk)
    if old is None or new is None or old.key != new.key:
        return None
    was, now = (
        _split_digest_pairs(bytes(old.digests)),
        _split_digest_pairs(bytes(new.digests)),
    )
    alike = _select_public_digests(was) & _select_public_digests(now)
    same = _select_public_digests(was & now)
    return Compared(
        len(same),
        len(alike - same),
        len(_select_public_digests(now) - alike),
        len(_select_public_digests(was) - alike),
    )


def _compute_keyed_digest_pairs(digests: bytes, key: bytes) -> set[bytes]:
    each = _compute_keyed_digests(digests, key)
    return {shown + whole for shown, whole in zip(each[::2], each[1::2], strict=True)}


def _compute_keyed_digests(digests: bytes, key: bytes) -> list[bytes]:
    parts = _split_digests(digests, packing.INSTANCE_DIGEST_BYTES)
    return [
        hashlib.blake2b(part, key=key, digest_size=KEYED_DIGEST_BYTES).digest()
        for part in parts
    ]


def _split_digests(content: bytes, width: int) -> list[bytes]:
    return [content[place : place + width] for place in range(0, len(content), width)]


def _split_digest_pairs(digests: bytes) -> set[bytes]:
    return set(_split_digests(digests, 2 * KEYED_DIGEST_BYTES))


def _select_public_digests(pairs: set[bytes]) -> set[bytes]:
    return {pair[:KEYED_DIGEST_BYTES] for pair in pairs}


def compute_missing_gold_digests(most: int = 5) -> int:
    """Compute the digests of at most ``most`` versions of gold that have no digests
    under the current key. A version of gold that cannot be read is treated as a single
    instance. Return the number of versions whose digests were computed.
    """
    known = GoldContent.objects.filter(key=_derive_digest_key_and_name()[1]).values(
        "gold"
    )
    golds = list(Gold.objects.exclude(pk__in=known).select_related("task")[:most])
    for gold in golds:
        whole = hashlib.sha256(gold.digest.encode()).digest()
        # A second attempt follows, since an error of the machine can end the first.
        digests = (
            _read_gold_digests(gold) or _read_gold_digests(gold) or (whole, whole, b"")
        )
        with transaction.atomic():
            store_gold_digests(gold, *digests)
    return len(golds)


def _read_gold_digests(gold: Gold) -> tuple[bytes, ...] | None:
    if (task_type := task_types().get(gold.task.type)) is None:
        return None
    with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
        try:
            path = storage.copy_to_local_folder(
                storage.gold_file_storage, gold.file, Path(folder)
            )
            handed = hand_option_files_to_sandbox(task_type, gold.task.options)
            facts = {
                "task_type": task_type.slug,
                "options": handed.options,
                "filename": packing.GOLD,
                "reading": gold.reading_version,
            }
            with read_upload(
                GOLD_PACKING_FUNCTION,
                path,
                facts,
                owner=None,
                limits=_make_background_limits(),
                files=handed.files,
            ) as done:
                if done.result["problems"]:
                    return None
                files = (
                    packing.INSTANCE_DIGESTS_FILE_NAME,
                    packing.HELD_DIGESTS_FILE_NAME,
                    packing.PAPER_DIGESTS_FILE_NAME,
                )
                return tuple(done.file(name).read_bytes() for name in files)
        except (storage.StoredFileMissing, OptionRefused, UploadUnreadable):
            return None


@dataclass(frozen=True, kw_only=True)
class OptionsInSandbox:
    """The options of a task for a sandboxed process. ``files`` maps the names of copies
    in the working folder to the files that the task's options name.
    """

    options: Options
    files: dict[str, Path]


def hand_option_files_to_sandbox(
    task_type: TaskType, options: Options
) -> OptionsInSandbox:
    """Return the validated options, in which copies replace the files that the operator
    provides, such as a file of parses. A sandboxed process can read only the copies.
    """
    checked = dict(task_type.validate_options(options))
    files: dict[str, Path] = {}
    for option in task_type.options:
        path = Path(checked.get(option.name, ""))
        if option.may_be_file and path.is_absolute() and path.is_file():
            checked[option.name] = f"{option.name}-{path.name}"
            files[checked[option.name]] = path
    return OptionsInSandbox(options=checked, files=files)


def _make_background_limits() -> ResourceLimits:
    """Return the limits of organisers, with more wall-clock time. Nobody waits for the
    result, and gold that a busy machine cannot read in time would count as one instance.
    """
    limits = build_organiser_upload_limits()
    return replace(limits, wall_seconds=WALL_TIME_PER_CPU_TIME * limits.cpu_seconds)


def _derive_digest_key_and_name() -> tuple[bytes, str]:
    key = hashlib.sha256(b"content of gold, 2 " + settings.SECRET_KEY.encode()).digest()
    return key, hashlib.sha256(key).hexdigest()[:16]
