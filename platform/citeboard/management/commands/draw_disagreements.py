"""`manage.py draw_disagreements SEASON TASK PHASE JUDGE --organiser ADDRESS`"""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.acts.estimates import DEFAULT_LABELS_PER_RUN, DisagreementsForm
from citeboard.core.words import count_with_noun
from citeboard.management.commands.import_bundle import find_organiser_by_email
from scoring.human import disagreements, estimates
from scoring.human.sheets import SheetRefused
from tasks.management.problems import (
    REFUSED_INPUT_EXIT_CODE,
    convert_to_command_error,
    get_phase_or_command_error,
)
from tasks.models import Phase
from tasks.seasons.access import can_organise_season


class Command(BaseCommand):
    help = (
        "Draw a sheet of pairs on which a further judge disagrees with the first one, and write its lines; "
        "docs/judges.md says how people's labels return."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        for name in ("season", "task", "phase"):
            add(name, metavar=name.upper(), help=f"the slug of the {name}")
        add(
            "judge",
            metavar="JUDGE",
            help="a further judge of the phase, such as support-b or support-b@supports",
        )
        add("--organiser", required=True, metavar="ADDRESS", help="who draws the sheet")
        add(
            "--pairs",
            type=int,
            default=DEFAULT_LABELS_PER_RUN,
            help="the most pairs on it",
        )
        add("--seed", default="", help="draws the same pairs again")
        add("--out", type=Path, metavar="FILE", help="in place of the standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        phase = get_phase_or_command_error(
            season=options["season"], task=options["task"], phase=options["phase"]
        )
        by = find_organiser_by_email(options["organiser"])
        if by is None or not can_organise_season(by, phase.task.season):
            words = f"{options['organiser']} does not organise the season"
            raise CommandError(words, returncode=REFUSED_INPUT_EXIT_CODE)
        asked = _validate_options(phase, options)
        with convert_to_command_error(SheetRefused):
            found = disagreements.sample_disagreements(asked, by)
        content = disagreements.build_lines_for_people_to_label(asked, found)
        lines = estimates.store_sheet_file(content)
        try:
            disagreements.save_disagreement_sheet(asked, found, lines, by=by)
        finally:
            estimates.delete_unused_sheet_file(lines)
        if options["out"]:
            options["out"].write_bytes(content)
        else:
            self.stdout.write(content.decode(), ending="")
        self.stderr.write(
            f"{count_with_noun(lines.rows, 'pair')} of {found.differing} on which the judges disagree, "
            f"of {found.common} that both labelled; seed {asked.seed}"
        )


def _validate_options(
    phase: Phase, options: Mapping[str, Any]
) -> disagreements.DisagreementRequest:
    """Check the options of the command with the form of the organisers' page.

    Raises CommandError if an option of the command is invalid.
    """
    form = DisagreementsForm(
        {name: options[name] for name in ("judge", "pairs", "seed")}, of=phase
    )
    if not form.is_valid():
        faults = (
            f"{name}: {' '.join(map(str, messages))}"
            for name, messages in form.errors.items()
        )
        raise CommandError("\n".join(faults), returncode=REFUSED_INPUT_EXIT_CODE)
    return disagreements.DisagreementRequest(
        phase=phase,
        judge=form.cleaned_data["judge"],
        pairs=form.cleaned_data["pairs"],
        seed=form.cleaned_data["seed"] or disagreements.make_random_sampling_seed(),
    )
