from typing import Any

from django.db import migrations
from django.db.models import Count, Exists, OuterRef


def mark(apps: Any, schema_editor: Any) -> None:
    """Runs of before as those that come are marked."""
    runs, evaluations, jobs = (
        apps.get_model(*name)._default_manager.order_by()  # noqa: SLF001  (public by name)
        for name in (("tasks", "Submission"), ("scoring", "Evaluation"), ("tasks", "Job"))
    )
    of_teams = runs.exclude(team=None).exclude(sha256="")
    files = of_teams.values("sha256").annotate(teams=Count("team", distinct=True)).filter(teams__gt=1)
    of_teams.filter(sha256__in=files.values("sha256")).update(is_alike=True)
    scored = evaluations.exclude(team=None).exclude(answers_digest="")
    answers = scored.values("answers_digest", "gold", "rules").annotate(teams=Count("team", distinct=True))
    alike = scored.filter(answers_digest__in=answers.filter(teams__gt=1).values("answers_digest"))
    runs.filter(pk__in=alike.values("submission")).update(is_alike=True)
    later = runs.filter(
        phase=OuterRef("phase"), team=OuterRef("team"), number__gt=OuterRef("number"), status="scored"
    )
    failed = jobs.filter(submission=OuterRef("pk"), state="failed")
    runs.filter(~Exists(later), status="failed").update(has_failed=True)
    runs.filter(Exists(failed), status="scored").update(has_failed=True)


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0020_archives"),
        ("tasks", "0062_marked_runs"),
    ]

    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
