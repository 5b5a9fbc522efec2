"""Read the settings of [task.gold] that state how gold files arrange ids and answers."""

from collections.abc import Mapping, Sequence

from tasks.types.declared.keys import TomlTable
from tasks.types.forms.instances import TREC
from tasks.types.forms.shapes import GoldFileLayout

#: `FORMS_PERMITTING_KEY` maps some keys of [task.gold] to the forms of task that permit the key.
#: All other keys of [task.gold] are permitted in every form of task.
FORMS_PERMITTING_KEY: Mapping[str, Sequence[str]] = {
    "columns": ("labels", "numbers", "text"),
    "vector": ("labels",),
    "separator": ("labels", "ranking"),
    "item": ("ranking",),
    "document": ("ranking",),
    "relevant": ("ranking",),
}
#: A `task.toml` may contain at most one key of each group in `MUTUALLY_EXCLUSIVE_KEYS`.
MUTUALLY_EXCLUSIVE_KEYS = (
    ("ids", "numbered", "keyed", "document"),
    ("columns", "vector", "separator", "item", "document"),
)


def read_gold_shape(gold: TomlTable, form: str, files: str) -> GoldFileLayout:
    """Return the settings of [task.gold] that state how gold files arrange ids and
    answers. Record a problem for each setting that is invalid for the form of task or
    for the file format, or that contradicts another setting.
    """
    shape = GoldFileLayout(
        ids=gold.texts("ids", ()),
        numbered=gold.read_flag("numbered"),
        keyed=gold.read_flag("keyed"),
        columns=gold.texts("columns", ()),
        vector=gold.read_flag("vector"),
        separator=gold.text("separator", ""),
        item=gold.text("item", ""),
        document=gold.text("document", ""),
        relevant=gold.texts("relevant", ()),
        queries=gold.text("queries", ""),
    )
    for key, forms in FORMS_PERMITTING_KEY.items():
        if key in gold and form not in forms:
            expected = f"a key of {', '.join(forms)}"
            gold.add_problem_at_key(
                key, f"“{key}” says nothing of the form {form}", expected
            )
    for names in MUTUALLY_EXCLUSIVE_KEYS:
        said = [name for name in names if name in gold]
        for other in said[1:]:
            message = f"“{said[0]}” and “{other}” exclude each other"
            gold.add_problem_at_key(other, message, "one of them")
    if len(shape.ids) == 1:
        gold.add_problem_at_key(
            "ids", "“ids” names one field", "two or more, or “id” alone"
        )
    if shape.keyed and files != "json":
        gold.add_problem_at_key(
            "keyed", f"“keyed” says nothing of {files}", 'files = "json"'
        )
    if shape.relevant and not shape.document:
        gold.add_problem_at_key(
            "relevant", "“relevant” needs “document”", 'document = "doc_id"'
        )
    if "/" in shape.queries:
        message = f"“{shape.queries}” is no name of a file"
        gold.add_problem_at_key("queries", message, "a name without a folder")
    if files == TREC and shape != GoldFileLayout(queries=shape.queries):
        gold.add_problem_at_key(
            "files", "a file of qrels has one shape", "“queries” alone"
        )
    return shape


def list_secret_gold_fields(shape: GoldFileLayout, field: str) -> tuple[str, ...]:
    """Return the names of the gold fields that contain the answers and must not be
    public.
    """
    return (field, *shape.columns, *([shape.document] if shape.document else []))
