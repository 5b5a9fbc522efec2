"""Django forms for the upload and the description of a run."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.core.plain_text import MAX_DESCRIPTION_LENGTH
from citeboard.core.words import count_with_noun, join_names
from citeboard.teams.models import Team
from tasks.models import Phase, Submission, Task
from tasks.models.run_cards import (
    COSTS_REQUIREMENT,
    METHOD_REQUIREMENT,
    REQUIRABLE_FIELD_LABELS,
    RUN_CARD_FIELDS,
    RunCardField,
)
from tasks.submissions.run_card import (
    MAX_SYSTEM_NAME_CHARACTERS,
    TEAM_RUN_KINDS,
    TeamReportedMeasure,
)
from tasks.submissions.uploads import get_max_upload_bytes

RUN_KIND_LABELS = {
    Submission.Kind.PRIMARY: _("Primary: may be on the board"),
    Submission.Kind.CONTRASTIVE: _("Contrastive: scored, but never ranked"),
}


def make_form_field_for_card_field(known: RunCardField) -> forms.Field:
    shared: dict[str, Any] = {
        "label": known.label,
        "required": False,
        "help_text": known.help,
    }
    if known.values:
        return forms.ChoiceField(
            choices=[("", gettext("not said")), *known.choices.items()], **shared
        )
    is_short = known.is_short or known.is_link or known.is_date or known.is_list
    widget = forms.TextInput if is_short else forms.Textarea(attrs={"rows": 2})
    return forms.CharField(max_length=known.max_length, widget=widget, **shared)


class CardForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(
            {
                name: make_form_field_for_card_field(known)
                for name, known in RUN_CARD_FIELDS.items()
            }
        )


class RunForm(forms.Form):
    team = forms.ModelChoiceField(queryset=Team.objects.none(), empty_label=None)
    run = forms.FileField(
        label=_("Run"),
        error_messages={
            "required": _("Choose the file that holds the run."),
            "empty": _("The file is empty."),
        },
    )
    again = forms.BooleanField(label=_("Submit this file again"), required=False)
    metadata = forms.FileField(
        label=_("File of ir_metadata"),
        required=False,
        help_text=_(
            "YAML, at most 256 kB. It fills what is left empty below; so does such a header of a run."
        ),
        error_messages={"empty": _("The file is empty.")},
    )
    system = forms.CharField(
        label=_("System"),
        max_length=MAX_SYSTEM_NAME_CHARACTERS,
        help_text=_("The name on the board."),
        error_messages={"required": _("Give the system a name.")},
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=MAX_DESCRIPTION_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("How it works, in a few sentences. Shown with its scores."),
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        choices=[
            (kind, RUN_KIND_LABELS[Submission.Kind(kind)]) for kind in TEAM_RUN_KINDS
        ],
        initial=Submission.Kind.PRIMARY,
        widget=forms.RadioSelect,
        required=False,
    )

    seeds_of = forms.CharField(
        label=_("Seed of"),
        required=False,
        max_length=MAX_SYSTEM_NAME_CHARACTERS,
        help_text=_(
            "Of several runs of one system that differ by chance alone, such as by their random seeds: the "
            "system's name, the same for each. The board ranks their mean and shows the runs below it."
        ),
        error_messages={"required": _("Give the system's name.")},
    )
    priority = forms.IntegerField(
        label=_("Priority"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=_(
            "1 comes first, and your other runs move down. Without it this run comes last. You can "
            "change the order until the phase closes."
        ),
    )

    def __init__(
        self,
        *args: Any,
        teams: list[Team],
        has_priority: bool = False,
        seeds: str = Task.SeedRunPolicy.ALLOWED,
        measures: Sequence[TeamReportedMeasure] = (),
        required: Sequence[str] = (),
        is_check: bool = False,
        is_kept: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.measures = measures
        for measure in measures:
            message = (
                gettext("Give a number of %(unit)s.")
                if measure.unit
                else gettext("Give a number.")
            )
            self.fields[measure.name] = forms.FloatField(
                label=measure.titled,
                required=False,
                min_value=0,
                max_value=measure.highest,
                help_text=measure.help,
                widget=forms.NumberInput(attrs={"step": "any", "min": 0}),
                error_messages={"invalid": message % {"unit": measure.unit}},
            )
        self.required = [name for name in REQUIRABLE_FIELD_LABELS if name in required]
        self.fields.update(
            {
                name: make_form_field_for_card_field(known)
                for name, known in RUN_CARD_FIELDS.items()
            }
        )
        message = gettext("At most %(size)s. A file, or a zip of files.")
        self.fields["run"].help_text = message % {
            "size": count_with_noun(get_max_upload_bytes() >> 20, "megabyte")
        }
        if is_kept:
            self.fields["run"].required = False
        if is_check:
            self.fields["system"].required = False
        if not has_priority:
            del self.fields["priority"]
        if seeds == Task.SeedRunPolicy.REFUSED:
            del self.fields["seeds_of"]
        else:
            is_needed = seeds == Task.SeedRunPolicy.NEEDED and not is_check
            self.fields["seeds_of"].required = is_needed
        if len(teams) > 1:
            field = self.fields["team"]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = Team.objects.filter(pk__in=[team.pk for team in teams])
        else:
            del self.fields["team"]

    @property
    def team_figures(self) -> list[forms.BoundField]:
        return [self[measure.name] for measure in self.measures]

    @property
    def has_team_figures(self) -> bool:
        return any(field.value() or field.errors for field in self.team_figures)

    @property
    def card_fields(self) -> list[tuple[forms.BoundField, bool]]:
        return [(self[name], name in self.required) for name in RUN_CARD_FIELDS]

    @property
    def own_fields(self) -> list[forms.BoundField]:
        apart = {
            *RUN_CARD_FIELDS,
            "metadata",
            *(measure.name for measure in self.measures),
        }
        return [field for field in self if field.name not in apart]

    @property
    def has_card(self) -> bool:
        fields = [field for field, is_required in self.card_fields]
        return bool(self.required) or any(
            field.value() or field.errors for field in fields
        )

    @property
    def required_words(self) -> str:
        return join_names(
            [str(REQUIRABLE_FIELD_LABELS[name]) for name in self.required]
        )

    @property
    def requires_method(self) -> bool:
        return METHOD_REQUIREMENT in self.required

    @property
    def requires_costs(self) -> bool:
        return COSTS_REQUIREMENT in self.required

    def card(self) -> dict[str, str]:
        return {name: self.cleaned_data.get(name, "") for name in RUN_CARD_FIELDS}

    def figures(self) -> dict[str, object]:
        return {
            measure.name: self.cleaned_data.get(measure.name)
            for measure in self.measures
        }

    def add_missing_field_errors(self, missing: Sequence[str]) -> None:
        for name in missing:
            field = {
                METHOD_REQUIREMENT: "description",
                COSTS_REQUIREMENT: "wall_seconds",
            }.get(name, name)
            self.add_error(
                field if field in self.fields else None, _("This phase asks for it.")
            )

    def clean_kind(self) -> str:
        return self.cleaned_data["kind"] or Submission.Kind.PRIMARY.value


class BundleForm(RunForm):
    phase = forms.ChoiceField(label=_("Phase"), required=False)
    tasks = forms.MultipleChoiceField(
        label=_("Tasks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Tick tasks to limit the upload; with none ticked the file goes to every "
            "task whose format it has."
        ),
    )

    def __init__(self, *args: Any, phases: Sequence[Phase], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A bundle is always stored, so no field asks about an earlier file.
        del self.fields["again"]
        slugs = {phase.slug: phase.title for phase in phases}
        choice, several = self.fields["phase"], self.fields["tasks"]
        assert isinstance(choice, forms.ChoiceField)
        assert isinstance(several, forms.MultipleChoiceField)
        choice.choices = list(slugs.items())
        several.choices = list(
            {phase.task.slug: phase.task.title for phase in phases}.items()
        )
        if len(slugs) < 2:
            del self.fields["phase"]
