"""Pages on which organisers declare a task. The site reads the task's gold and proposes
a declaration, and organisers preview the board and save the declaration.
"""

import datetime as dt
from dataclasses import replace
from typing import Any

from django import forms
from django.core import signing
from django.http import Http404, HttpRequest, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts.declared import DateTimeTextField, PhaseEndField, TextLinesField
from citeboard.acts.declaring import CHANGE_DECLARED_TASK, CREATE_DECLARED_TASK
from citeboard.acts.gold import build_encoding_field
from citeboard.acts.rehearsal import perform_confirmed_action
from citeboard.core import storage
from citeboard.core.words import count_with_noun
from citeboard.web.organise.file_names import (
    GOLD_VALUES_FORM_FIELD,
    SAVE_ANYWAY_FORM_FIELD,
    add_file_name_fields,
    add_official_run_fields,
    apply_file_name_fields,
    check_official_run,
    find_file_name_field,
    replace_metric_label,
)
from citeboard.web.organise.gold import describe_gold_size
from citeboard.web.organise.view_fields import (
    add_view_fields,
    apply_view_fields,
    find_form_field_of_view_key,
)
from citeboard.web.pages import (
    SignedInRequest,
    ViewResult,
    add_refusals_to_form,
    build_form_arguments,
    organiser_pages,
    read_action_confirmation,
    require_known_fields,
)
from scoring.offline.official_run import SAMPLE_RUN_KEY
from scoring.offline.proposing import DAMAGED_RUN_NAME, GOLD_RUN_NAME
from scoring.worker import declaring, rescoring
from tasks.gold.drafts import MAX_DRAFT_SIGNATURE_AGE, store_gold_draft
from tasks.models import Season, Task
from tasks.seasons.own_measures import list_missing_carrier_warnings
from tasks.submissions.uploads import receive_upload
from tasks.types import Problem
from tasks.types.declared.baselines import BASELINE_MAKERS_BY_FORM
from tasks.types.declared.folder import TASK_CARD_FILE_NAME, TOML
from tasks.types.declared.own_measures import MEASURES_FILE_NAME, parse_measure_classes
from tasks.types.declared.proposals import format_task_toml, list_available_measures
from tasks.types.declared.read_shapes import FORMS_PERMITTING_KEY
from tasks.types.declared.read_view import VIEW_TABLE_KEY
from tasks.types.declared.recognised import (
    LIKELY_CONFIDENCE,
    SURE_CONFIDENCE,
    UNSURE_CONFIDENCE,
)
from tasks.types.forms.shapes import WHITE_SPACE_SEPARATOR
from tasks.types.problems import convert_dicts_to_problems, select_problems_to_list
from tasks.types.toml_lines import TomlKeyLines

JsonObject = dict[str, Any]
#: A file `measures.py` has at most MAX_MEASURES_LENGTH characters.
MAX_MEASURES_LENGTH = 50_000
#: _FIELDS_BY_DECLARATION_KEY maps declaration keys to form fields that set the keys under another name.
_FIELDS_BY_DECLARATION_KEY: dict[object, str] = {"id": "key", "field": "gold"}
DRAFT_SIGNING_SALT = "declared-task"
DEFAULT_PHASE_DURATION = dt.timedelta(days=90)
#: Values in the table [task.answer] are gold fields, lines, words, numbers or booleans.
FIELD_KEY_KIND, LINES_KEY_KIND, WORD_KEY_KIND, NUMBER_KEY_KIND, BOOLEAN_KEY_KIND = (
    "field",
    "lines",
    "word",
    "number",
    "switch",
)
FIELD_REQUIREMENT_CHOICES = ("none", "optional", "needed")
ANSWER_KEYS_BY_FORM: dict[str, dict[str, Any]] = {
    "labels": {
        "labels": LINES_KEY_KIND,
        "positive": WORD_KEY_KIND,
        "abstain": WORD_KEY_KIND,
        "probabilities": FIELD_REQUIREMENT_CHOICES,
        "confidence": FIELD_REQUIREMENT_CHOICES,
    },
    "ranking": {"query": FIELD_KEY_KIND, "candidates": FIELD_KEY_KIND},
    "text": {},
    "spans": {"text": FIELD_KEY_KIND, "labels": LINES_KEY_KIND},
    "tags": {
        "tokens": FIELD_KEY_KIND,
        "labels": LINES_KEY_KIND,
        "repair": BOOLEAN_KEY_KIND,
    },
    "evidence": {"labels": LINES_KEY_KIND, "abstain": WORD_KEY_KIND},
    "numbers": {
        "least": NUMBER_KEY_KIND,
        "most": NUMBER_KEY_KIND,
        "step": NUMBER_KEY_KIND,
    },
}
ANSWER_KEY_LABELS = {
    "labels": gettext_lazy("Labels, one a line"),
    "positive": gettext_lazy("Label that precision, recall and F1 are of"),
    "abstain": gettext_lazy("Word for an answer that is withheld"),
    "probabilities": gettext_lazy("Probabilities of the labels"),
    "confidence": gettext_lazy("Confidence in the label given"),
    "query": gettext_lazy("Field with the query"),
    "candidates": gettext_lazy("Field with the candidates of each instance"),
    "text": gettext_lazy("Field with the text"),
    "tokens": gettext_lazy("Field with the words"),
    "repair": gettext_lazy(
        "Lenient reading: an I- that continues no entity begins one"
    ),
    "least": gettext_lazy("Least number"),
    "most": gettext_lazy("Largest number"),
    "step": gettext_lazy("Step"),
}
#: A value in [task.gold] is a boolean, word, field, fields, lines or a separator.
BOOLEAN_KEY_KIND, SEPARATOR_KEY_KIND, FIELDS_KEY_KIND = "switch", "sign", "fields"
GOLD_SHAPE_KEYS = {
    "numbered": BOOLEAN_KEY_KIND,
    "ids": FIELDS_KEY_KIND,
    "columns": FIELDS_KEY_KIND,
    "vector": BOOLEAN_KEY_KIND,
    "separator": SEPARATOR_KEY_KIND,
    "item": WORD_KEY_KIND,
    "document": FIELD_KEY_KIND,
    "relevant": LINES_KEY_KIND,
}
#: The form shows the keys in SHAPE_KEYS_SHOWN_IF_PROPOSED only if the proposal contains them.
SHAPE_KEYS_SHOWN_IF_PROPOSED = ("ids", "columns", "relevant")
SHAPE_KEY_LABELS = {
    "numbered": gettext_lazy("The number of a row is its id"),
    "ids": gettext_lazy("Fields that make the id together"),
    "columns": gettext_lazy("Columns that are the answer together"),
    "vector": gettext_lazy("The answer is a list of 0 and 1, a place for each label"),
    "separator": gettext_lazy("Sign between several answers in one text"),
    "item": gettext_lazy("Key of a record that names it, in a list of records"),
    "document": gettext_lazy("Field with the document, where each row is one"),
    "relevant": gettext_lazy("Values that count as relevant, one a line"),
}
SHAPE_KEY_HELP_TEXTS = {
    "numbered": gettext_lazy(
        "The order of the rows is then part of the gold: the same rows in another order are other gold."
    ),
    "vector": gettext_lazy("The labels below are in the order of the places."),
}
SEPARATOR_CHOICES = [
    ("", gettext_lazy("none")),
    (WHITE_SPACE_SEPARATOR, gettext_lazy("white space")),
    (";", gettext_lazy("semicolon")),
    ("|", gettext_lazy("vertical bar")),
    (",", gettext_lazy("comma")),
]
GUESSED_PART_LABELS = {
    "id": gettext_lazy("Id"),
    "answer": gettext_lazy("Answer"),
    "pool": gettext_lazy("Documents"),
    "queries": gettext_lazy("Queries"),
    "candidates": gettext_lazy("Candidates"),
    "shown": gettext_lazy("Shown to participants"),
}
CONFIDENCE_LABELS = {
    SURE_CONFIDENCE: gettext_lazy("sure"),
    LIKELY_CONFIDENCE: gettext_lazy("likely"),
    UNSURE_CONFIDENCE: gettext_lazy("unsure: please check"),
}


class NewTaskGoldForm(forms.Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=100)
    form = forms.ChoiceField(
        label=gettext_lazy("Form of an answer"),
        choices=list(declaring.ANSWER_FORM_LABELS.items()),
    )
    file = forms.FileField(
        label=gettext_lazy("Gold"),
        help_text=gettext_lazy(
            "JSON lines, JSON, CSV or TSV, one instance a line; with documents or "
            "queries a zip of all. Qrels with queries and documents are a ranking."
        ),
    )
    encoding = build_encoding_field()
    delimiter = forms.ChoiceField(
        label=gettext_lazy("Separator of the columns of a CSV file"),
        required=False,
        choices=[
            ("", gettext_lazy("the separator that all rows share")),
            (",", gettext_lazy("comma")),
            (";", gettext_lazy("semicolon")),
            ("\t", gettext_lazy("tab")),
        ],
    )


class DeclarationForm(forms.Form):
    """The form of a task's declaration.

    Keys of the declaration that have no field in the form stay unchanged.
    """

    title = forms.CharField(label=gettext_lazy("Title"), max_length=100)
    card = forms.CharField(
        label=gettext_lazy("What participants read"),
        widget=forms.Textarea(attrs={"rows": 12}),
        max_length=50_000,
        help_text=gettext_lazy("Markdown, with the sections given here."),
    )

    def __init__(self, data: Any, draft: JsonObject, season: Season) -> None:
        self.task: JsonObject = draft["task"]
        gold, said = self.task["gold"], self.task.get("answer", {})
        self.guesses: list[JsonObject] = draft.get("guesses", [])
        declared = self.task.get("dimensions", [])
        named = [
            {"name": own, "field": own} if isinstance(own, str) else own
            for own in declared
        ]
        known = {own["name"]: own for own in named}
        baselines = [own["name"] for own in self.task.get("baselines", [])]
        self.dimensions = {
            **{
                field["name"]: {"name": field["name"], "field": field["name"]}
                for field in draft["fields"]
            },
            **known,
        }
        text = draft["files"].get(MEASURES_FILE_NAME, "")
        self.warnings = list_missing_carrier_warnings(text)
        initial = {
            "title": self.task["title"],
            "card": draft["card"],
            "key": gold.get("id", "id"),
            "gold": gold["field"],
            "unit": self.task.get("unit", ""),
            "shown": gold.get("shown", []),
            "hidden": gold.get("hidden", []),
            **{name: gold[name] for name in GOLD_SHAPE_KEYS if name in gold},
            "dimensions": list(known),
            "baselines": baselines,
            **said,
        }
        super().__init__(data, initial=initial, label_suffix="")
        message = _(
            "%(name)s (in %(there)s of %(all)s, %(different)s different, such as “%(example)s”)"
        )
        fields = [
            (own["name"], message % {**own, "all": draft["instances"]})
            for own in draft["fields"]
        ]
        whole = [(name, words) for name, words in fields if "." not in name]
        one, many = self._add_choice_field, self._add_multiple_choice_field
        one("key", _("Field with the id"), whole)
        one("gold", _("Field with the answer"), fields)
        self._add_shape_fields(gold, whole)
        one(
            "unit",
            _("Field of the unit: instances that belong together"),
            [("", _("each instance is by itself")), *fields],
        )
        many("shown", _("Fields that participants see; all else is secret"), whole)
        if parts := [field for field in fields if "." in field[0]]:
            many("hidden", _("Of these, parts that are taken out"), parts)
        dimensions = [(name, dict(fields).get(name, name)) for name in self.dimensions]
        many(
            "dimensions",
            _("Classes that scores are broken down by, which may be secret"),
            dimensions,
        )
        for name, kind in ANSWER_KEYS_BY_FORM[self.task["form"]].items():
            own = (
                forms.FloatField
                if kind == NUMBER_KEY_KIND
                else TextLinesField
                if kind == LINES_KEY_KIND
                else forms.CharField
            )
            if kind == BOOLEAN_KEY_KIND:
                self.fields[name] = forms.BooleanField(
                    label=ANSWER_KEY_LABELS[name], required=False
                )
            elif kind in (WORD_KEY_KIND, NUMBER_KEY_KIND, LINES_KEY_KIND):
                self.fields[name] = own(
                    label=ANSWER_KEY_LABELS[name],
                    required=name == "labels" and self.task["form"] != "spans",
                )
            else:
                choices = (
                    [("", _("none")), *fields]
                    if kind == FIELD_KEY_KIND
                    else [(word, word) for word in kind]
                )
                one(name, ANSWER_KEY_LABELS[name], choices)
        classes = parse_measure_classes(text, MEASURES_FILE_NAME, []).classes
        #: `measures` contains each rule set's possible metrics by name.
        self.measures: list[JsonObject] = []
        for number, rules in enumerate(self.task["rules"]):
            own_measures = list_available_measures({**self.task, "rules": [rules]})
            self.measures.append(
                {**dict(zip(classes, classes, strict=True)), **own_measures}
            )
            self._add_rule_set_fields(number, rules)
        # The form omits the baseline `tfidf-logistic`, which needs training data.
        # The form omits the baseline `bm25` if the task lacks a pool with texts.
        impossible = {"tfidf-logistic"} | (
            {"bm25"} if "pool" not in self.task else set()
        )
        add_file_name_fields(self, self.task)
        add_view_fields(self, self.task, fields)
        if own_baselines := [
            name
            for name in BASELINE_MAKERS_BY_FORM[self.task["form"]]
            if name in baselines or name not in impossible
        ]:
            many("baselines", _("Baselines"), [(name, name) for name in own_baselines])
        self.fields["own_measures"] = forms.CharField(
            label=_("measures.py, where a measure of one's own is needed"),
            required=False,
            strip=False,
            initial=text,
            max_length=MAX_MEASURES_LENGTH,
            widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
            help_text=_(
                "The preview shows its measures among the others; the site's staff may "
                "have to approve it first."
            ),
        )
        measures = dict.fromkeys(name for measure in self.measures for name in measure)
        add_official_run_fields(self, list(measures), draft)
        if draft["edits"]:
            reason = _(
                "Where numbers change: what was corrected. Teams read it beside the change of their scores."
            )
            self.fields["reason"] = forms.CharField(
                label=_("Reason"), required=False, max_length=500, help_text=reason
            )
        else:
            self._add_phase_fields(season)
        self.fields["draft"] = forms.CharField(widget=forms.HiddenInput)
        self.initial["draft"] = signing.dumps(
            draft, salt=DRAFT_SIGNING_SALT, compress=True
        )

    def _add_phase_fields(self, season: Season) -> None:
        tables = declaring.build_phase_tables_for_new_task(season)
        splits = declaring.list_splits_of_phase_tables(tables)
        self.phases = ", ".join(table["title"] for table in tables)
        if len(splits) > 1:
            self._add_choice_field(
                "split", _("Split"), [(split, split) for split in splits]
            )
        now = timezone.now().replace(second=0, microsecond=0)
        late = not tables or bool(
            declaring.list_phases_open_at_creation(season, tables)
        )
        if late:
            # A new task of a public season is closed until organisers set its opening.
            first = None if season.is_public else now
            words = _("Until then the task is closed.") if season.is_public else ""
            self.fields["opens"] = DateTimeTextField(
                label=_("Opens"), zone=season.zone, initial=first, help_text=words
            )
        if not tables:
            self.fields["closes"] = PhaseEndField(
                label=_("Closes"),
                zone=season.zone,
                initial=now + DEFAULT_PHASE_DURATION,
            )

    def _add_shape_fields(self, gold: JsonObject, whole: list[Any]) -> None:
        self.shape = [
            name
            for name in GOLD_SHAPE_KEYS
            if self.task["form"] in FORMS_PERMITTING_KEY.get(name, [self.task["form"]])
            and (name in gold or name not in SHAPE_KEYS_SHOWN_IF_PROPOSED)
        ]
        for name in self.shape:
            kind, label = GOLD_SHAPE_KEYS[name], SHAPE_KEY_LABELS[name]
            facts: JsonObject = {
                "label": label,
                "required": False,
                "help_text": SHAPE_KEY_HELP_TEXTS.get(name, ""),
            }
            if kind == FIELDS_KEY_KIND:
                self._add_multiple_choice_field(name, label, whole)
            elif kind in (FIELD_KEY_KIND, SEPARATOR_KEY_KIND):
                choices = (
                    SEPARATOR_CHOICES
                    if kind == SEPARATOR_KEY_KIND
                    else [("", _("none")), *whole]
                )
                self._add_choice_field(name, label, choices)
                self.fields[name].required = False
            elif kind == BOOLEAN_KEY_KIND:
                self.fields[name] = forms.BooleanField(**facts)
            else:
                own = TextLinesField if kind == LINES_KEY_KIND else forms.CharField
                self.fields[name] = own(**facts)

    def _add_rule_set_fields(self, number: int, rules: JsonObject) -> None:
        end = f"_{number + 1}" if number else ""
        of = f" ({rules['name']})" if len(self.task["rules"]) > 1 else ""
        has = [
            own if isinstance(own, str) else own["name"] for own in rules["measures"]
        ]
        self.initial.update({f"measures{end}": has, f"first{end}": has[0]})
        names = [(name, name) for name in self.measures[number]]
        self._add_multiple_choice_field(
            f"measures{end}", _("Measures") + of, names, is_needed=True
        )
        self._add_choice_field(f"first{end}", _("The measure that ranks") + of, names)
        # A missing ranking counts as empty, and a missing number is an error.
        missing = rules.get("missing", "wrong")
        if self.task["form"] not in ("ranking", "numbers") and isinstance(missing, str):
            self.initial[f"missing{end}"] = missing
            ways = [("wrong", _("it is wrong")), ("left-out", _("it is left out"))]
            self._add_choice_field(
                f"missing{end}", _("An instance without an answer") + of, ways
            )

    def _add_choice_field(self, name: str, label: Any, choices: list[Any]) -> None:
        # A declaration may use nested fields that the proposal does not list.
        present = self.initial.get(name)
        more = [(present, present)] if present and present not in dict(choices) else []
        self.fields[name] = forms.ChoiceField(
            label=label, choices=[*choices, *more], required=bool(present)
        )

    def _add_multiple_choice_field(
        self, name: str, label: Any, choices: list[Any], *, is_needed: bool = False
    ) -> None:
        more = [
            (own, own) for own in self.initial.get(name, ()) if own not in dict(choices)
        ]
        self.fields[name] = forms.MultipleChoiceField(
            label=label,
            choices=[*choices, *more],
            required=is_needed,
            widget=forms.CheckboxSelectMultiple,
        )

    def declared(self) -> JsonObject:
        given = self.cleaned_data
        gold = {**self.task["gold"], "id": given["key"], "field": given["gold"]}
        gold |= {name: given.get(name, []) for name in ("shown", "hidden")}
        gold |= {name: given[name] or None for name in self.shape}
        said = {**self.task.get("answer", {})}
        said |= {
            name: given[name] or None if kind == BOOLEAN_KEY_KIND else given[name]
            for name, kind in ANSWER_KEYS_BY_FORM[self.task["form"]].items()
        }
        gold, said = apply_file_name_fields(self, gold, said)
        rule_sets = []
        for number, rules in enumerate(self.task["rules"]):
            end = f"_{number + 1}" if number else ""
            first, ticked = given[f"first{end}"], given[f"measures{end}"]
            names = [first, *(name for name in ticked if name != first)]
            measures = (self.measures[number][name] for name in names)
            changed: JsonObject = {
                "measures": [
                    replace_metric_label(measure, given.get(GOLD_VALUES_FORM_FIELD, {}))
                    for measure in measures
                ]
            }
            if f"missing{end}" in given:
                changed["missing"] = given[f"missing{end}"]
            rule_sets.append({**rules, **changed})
        kept = {own["name"]: own for own in self.task.get("baselines", [])}
        task = {
            **self.task,
            "title": given["title"],
            "unit": given["unit"],
            "dimensions": [self.dimensions[name] for name in given["dimensions"]],
            "gold": _drop_empty_values(gold),
            "answer": _drop_empty_values(said),
            VIEW_TABLE_KEY: apply_view_fields(self, self.task.get(VIEW_TABLE_KEY, {})),
            "rules": rule_sets,
            "baselines": [
                kept.get(name, {"name": name}) for name in given.get("baselines", [])
            ],
        }
        return _drop_empty_values(task)


def _drop_empty_values(values: JsonObject) -> JsonObject:
    return {
        name: value for name, value in values.items() if value not in (None, "", [], {})
    }


@organiser_pages.form(
    "organise/declare.html", "settings", back="organise-settings season"
)
def edit_declared_task(
    request: SignedInRequest, season: Season, task: Task | None = None
) -> ViewResult:
    """Declare a new task from its gold, or edit the declaration of a task."""
    if task is not None and not task.declaration_id:
        raise Http404(_("The task is a built-in type."))
    context: JsonObject = {"edits": task}
    draft = _find_draft_in_request(request, season, task)
    if draft is None:
        return context | (
            _build_new_task_context(request, season)
            if task is None
            else _build_edit_task_context(request, season, task)
        )
    draft["files"] = {
        name: text
        for name, text in draft["files"].items()
        if name != MEASURES_FILE_NAME
    }
    if own := request.POST.get("own_measures", "").strip():
        draft["files"][MEASURES_FILE_NAME] = (
            own.replace("\r\n", "\n")[:MAX_MEASURES_LENGTH] + "\n"
        )
    form = DeclarationForm(
        _add_sample_run_to_posted_data(request, draft), draft, season
    )
    require_known_fields(request, form, ["preview", "save"])
    if not form.is_valid():
        return context | {"form": form}
    told = declaring.validate_task_draft(
        {**draft, "task": form.declared(), "card": form.cleaned_data["card"]},
        request.user,
    )
    sample = check_official_run(form, told, form.cleaned_data["first"])
    doubts = (
        sample
        and not sample["is_sound"]
        and not form.cleaned_data.get(SAVE_ANYWAY_FORM_FIELD)
    )
    keeps = "save" in request.POST and form.is_valid() and not told["problems"]
    if not keeps or doubts:
        return (
            context
            | _build_preview_context(form, told)
            | {"sample": sample, "doubts": doubts}
        )
    with add_refusals_to_form(form, None):
        try:
            return _save_declaration(request, season, task, draft, form, told)
        except rescoring.GoldFileRefused as refused:
            told["problems"] = [problem.as_dict() for problem in refused.problems]
    return context | _build_preview_context(form, told)


def _build_edit_task_context(
    request: SignedInRequest, season: Season, task: Task
) -> JsonObject:
    draft = declaring.build_draft_of_task(task)
    told = declaring.validate_task_draft(draft, request.user)
    # Organisers can edit a declaration even if the site finds no fields in the gold.
    known = {"fields": [], "instances": 0, **_find_proposed_parts_of_draft(told)}
    return _build_preview_context(
        DeclarationForm(None, {**draft, **known}, season), told
    )


def _build_new_task_context(request: SignedInRequest, season: Season) -> JsonObject:
    """Return the form that uploads the gold of a new task.

    If the request already contains the gold, return the form with a proposed
    declaration.
    """
    first = NewTaskGoldForm(**build_form_arguments(request), label_suffix="")
    if "draft" not in request.POST:
        # A request with an expired draft contains fields of the declaration form.
        require_known_fields(request, first)
    if not first.is_valid():
        return {"form": first}
    with add_refusals_to_form(first, "title"):
        slug = declaring.make_unused_task_slug(season, first.cleaned_data["title"])
    if first.errors:
        return {"form": first}
    draft, told = _start_task_draft(request, season, first, slug)
    if not told.get("task"):
        return {"form": first, **_group_problems_by_field(told)}
    return _build_preview_context(DeclarationForm(None, draft, season), told)


def _save_declaration(
    request: SignedInRequest,
    season: Season,
    task: Task | None,
    draft: JsonObject,
    form: DeclarationForm,
    told: JsonObject,
) -> str:
    given = form.cleaned_data
    files = {**declaring.remove_sample_files(draft["files"]), **told["files"]}
    if task is not None:
        filled = {"files": files, "reason": given["reason"]}
        again = perform_confirmed_action(
            CHANGE_DECLARED_TASK,
            task,
            request.user,
            filled,
            read_action_confirmation(request),
        )
        return CHANGE_DECLARED_TASK.told(task, again, filled)
    filled = {name: given.get(name) for name in ("opens", "closes")}
    filled |= {"split": given.get("split", ""), "files": files}
    filled |= {"stored": draft["stored"], "filename": draft["filename"]}
    filled |= {"encoding": draft.get("encoding", "")}
    made = perform_confirmed_action(
        CREATE_DECLARED_TASK,
        season,
        request.user,
        filled,
        read_action_confirmation(request),
    )
    for kept in (draft["stored"], draft.get(SAMPLE_RUN_KEY, {}).get("stored")):
        if kept:
            storage.gold_file_storage.delete(kept)
    message = _("%(task)s is saved with %(instances)s.")
    gold = made.gold.order_by("-pk").first()
    size = (
        describe_gold_size(gold)
        if gold
        else count_with_noun(told["instances"], "instance")
    )
    return message % {"task": made, "instances": size}


def _start_task_draft(
    request: SignedInRequest, season: Season, first: NewTaskGoldForm, slug: str
) -> tuple[JsonObject, JsonObject]:
    """Store the gold of a new task and propose a declaration.

    The site later deletes the stored gold file if the task is not saved.
    """
    given = first.cleaned_data
    stored, filename = _store_draft_file(given["file"])
    draft = {
        "season": season.pk,
        "edits": None,
        "stored": stored,
        "filename": filename,
        "encoding": given["encoding"],
        "delimiter": given["delimiter"],
        "form": given["form"],
        "slug": slug,
        "title": given["title"],
        "task": None,
        "files": {},
        "card": "",
    }
    told = declaring.validate_task_draft(draft, request.user)
    return {**draft, **_find_proposed_parts_of_draft(told)}, told


def _add_sample_run_to_posted_data(
    request: HttpRequest, draft: JsonObject
) -> QueryDict:
    """Return the posted data of the declaration form.

    If the request contains a sample run, the function stores the run and adds it to the
    draft.
    """
    sample_run = request.FILES.get(SAMPLE_RUN_KEY)
    if sample_run is None:
        return request.POST
    stored, filename = _store_draft_file(sample_run)
    draft[SAMPLE_RUN_KEY] = {"stored": stored, "filename": filename}
    posted = request.POST.copy()
    posted["draft"] = signing.dumps(draft, salt=DRAFT_SIGNING_SALT, compress=True)
    return posted


def _store_draft_file(sent_file: Any) -> tuple[str, str]:
    with receive_upload(sent_file) as upload:
        return store_gold_draft(upload.path), upload.filename


def _find_draft_in_request(
    request: HttpRequest, season: Season, task: Task | None
) -> JsonObject | None:
    try:
        draft: JsonObject = signing.loads(
            request.POST.get("draft", ""),
            salt=DRAFT_SIGNING_SALT,
            max_age=MAX_DRAFT_SIGNATURE_AGE,
        )
    except signing.BadSignature:
        return None
    is_ours = draft["season"] == season.pk and draft["edits"] == (
        task.pk if task else None
    )
    return (
        draft if is_ours and storage.gold_file_storage.exists(draft["stored"]) else None
    )


def _find_proposed_parts_of_draft(told: JsonObject) -> JsonObject:
    return {
        name: told[name]
        for name in ("task", "fields", "instances", "card", "guesses")
        if name in told
    }


def _group_problems_by_field(
    told: JsonObject, form: DeclarationForm | None = None
) -> JsonObject:
    """Return the problems of a declaration, by the name of the form field.

    The problems name form fields instead of lines, because users of the form do not see
    the declaration file.
    """
    problems = convert_dicts_to_problems(told["problems"])
    if form is not None:
        lines = TomlKeyLines(format_task_toml(told.get("task") or form.task))
        problems = [
            _move_problem_to_field(problem, lines, form) for problem in problems
        ]
    problems, more = select_problems_to_list(problems)
    return {"problems": problems, "more": more}


def _move_problem_to_field(
    problem: Problem, lines: TomlKeyLines, form: DeclarationForm
) -> Problem:
    name = ""
    if problem.file == TASK_CARD_FILE_NAME:
        name = "card"
    elif problem.file == TOML:
        path = lines.get_key_at_line(problem.line) if problem.line else ()
        name = find_file_name_field(path) or find_form_field_of_view_key(path)
        name = name or next(
            (own for part in path if (own := _FIELDS_BY_DECLARATION_KEY.get(part, ""))),
            "",
        )
        name = name or next((part for part in path[1:] if part in form.fields), "")
        # The names of form fields of the second rule set end with a number.
        number = next((part for part in path if isinstance(part, int)), 0)
        if path[1:2] == ("rules",) and number:
            name = f"{name}_{number + 1}"
    if name not in form.fields:
        return problem
    return replace(problem, file=str(form.fields[name].label), line=None)


def _build_preview_context(form: DeclarationForm, told: JsonObject) -> JsonObject:
    names = {
        GOLD_RUN_NAME: _("The gold itself"),
        DAMAGED_RUN_NAME: _("The gold, each third answer changed"),
    }
    rows = [
        {
            "system": names.get(row["system"], row["system"]),
            "values": row["scores"].values(),
        }
        for row in told.get("board", ())
    ]
    return {
        "form": form,
        "columns": list(told["board"][0]["scores"]) if rows else [],
        "rows": rows,
        "fields": told.get("fields", ()),
        "guesses": [
            {
                **guess,
                "part": GUESSED_PART_LABELS[guess["part"]],
                "is_unsure": guess["confidence"] == UNSURE_CONFIDENCE,
                "confidence": CONFIDENCE_LABELS[guess["confidence"]],
            }
            for guess in form.guesses
        ],
        **_group_problems_by_field(told, form),
    }
