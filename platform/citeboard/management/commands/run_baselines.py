from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.refusals import ActionRefused
from scoring.worker.baseline_runs import list_baseline_names, request_baselines
from tasks.models import Phase, Season


class Command(BaseCommand):
    help = (
        "Have the built-in baselines of a season computed in the worker, scored and set on its boards. "
        "Once more, it queues nothing but what failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("season", metavar="SEASON", help="the season's slug")
        parser.add_argument("--task", metavar="TASK", help="the slug of one task")
        parser.add_argument(
            "--phase", metavar="PHASE", help="the slug of one phase in each task"
        )
        parser.add_argument(
            "--baseline",
            metavar="NAME",
            action="append",
            help="one baseline; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        phases, wanted = self.phases(options), options["baseline"] or []
        known = {name for phase in phases for name in list_baseline_names(phase)}
        if unknown := [name for name in wanted if name not in known]:
            there_are = ", ".join(sorted(known)) or "none"
            raise CommandError(
                f"no baseline “{unknown[0]}” of these tasks; there are {there_are}"
            )
        for phase in phases:
            self.request_phase_baselines(
                phase,
                [name for name in list_baseline_names(phase) if name in wanted]
                if wanted
                else None,
            )

    def phases(self, options: dict[str, Any]) -> list[Phase]:
        if (season := Season.objects.filter(slug=options["season"]).first()) is None:
            known = (
                ", ".join(
                    Season.objects.order_by("slug").values_list("slug", flat=True)
                )
                or "none"
            )
            raise CommandError(
                f"there is no season “{options['season']}”; there are {known}"
            )
        given = {"task__slug": options["task"], "slug": options["phase"]}
        phases = Phase.objects.filter(task__season=season, task__is_reported_only=False)
        phases = phases.filter(**{name: slug for name, slug in given.items() if slug})
        if not phases:
            raise CommandError(
                f"{season} has no phase with runs that fits --task and --phase"
            )
        return list(
            phases.select_related("task__season").order_by("task__position", "position")
        )

    def request_phase_baselines(self, phase: Phase, names: list[str] | None) -> None:
        where = f"{phase.task.slug}/{phase.slug}"
        if not list_baseline_names(phase) or names == []:
            self.stdout.write(f"{where}: {phase.task.type} has no built-in baselines")
            return
        try:
            asked = request_baselines(phase=phase, names=names, by=None)
        except ActionRefused as reason:
            self.stdout.write(f"{where}: {reason}")
            return
        for request in asked:
            state = (
                "queued" if request.is_new else request.submission.get_status_display()
            )
            self.stdout.write(f"{where}: {request.name} {state}")
