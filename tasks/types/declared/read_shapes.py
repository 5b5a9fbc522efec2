"""Read the settings of [task.gold] that state how gold files arrange ids and answers."""

from collections.abc import Mapping, Sequence

from tasks.types.declared.keys import Keys
from tasks.types.forms.instances import TREC
from tasks.types.forms.shapes import GoldShape

#: `OF_FORMS` maps some keys of [task.gold] to the forms of task that permit the key.
#: All other keys of [task.gold] are permitted in every form of task.
OF_FORMS: Mapping[str, Sequence[str]] = {
    "columns": ("labels", "numbers", "text"),
    "vector": ("labels",),
    "separator": ("labels", "ranking"),
    "item": ("ranking",),
    "document": ("ranking",),
    "relevant": ("ranking",),
}
#: A `task.toml` may contain at most one key of each group in `EXCLUSIVE`.
EXCLUSIVE = (
    ("ids", "numbered", "keyed", "document"),
    ("columns", "vector", "separator", "item", "document"),
)


def read_shape(gold: Keys, form: str, files: str) -> GoldShape:
    """Return the settings of [task.gold] that state how gold files arrange ids and
    answers. Record a problem for each setting that is invalid for the form of task or
    for the file format, or that contradicts another setting.
    """
    shape = GoldShape(
        ids=gold.texts("ids", ()),
        numbered=gold.flag("numbered"),
        keyed=gold.flag("keyed"),
        columns=gold.texts("columns", ()),
        vector=gold.flag("vector"),
        separator=gold.text("separator", ""),
        item=gold.text("item", ""),
        document=gold.text("document", ""),
        relevant=gold.texts("relevant", ()),
        queries=gold.text("queries", ""),
    )
    for key, forms in OF_FORMS.items():
        if key in gold and form not in forms:
            expected = f"a key of {', '.join(forms)}"
            gold.refuse(key, f"“{key}” says nothing of the form {form}", expected)
    for names in EXCLUSIVE:
        said = [name for name in names if name in gold]
        for other in said[1:]:
            message = f"“{said[0]}” and “{other}” exclude each other"
            gold.refuse(other, message, "one of them")
    if len(shape.ids) == 1:
        gold.refuse("ids", "“ids” names one field", "two or more, or “id” alone")
    if shape.keyed and files != "json":
        gold.refuse("keyed", f"“keyed” says nothing of {files}", 'files = "json"')
    if shape.relevant and not shape.document:
        gold.refuse("relevant", "“relevant” needs “document”", 'document = "doc_id"')
    if "/" in shape.queries:
        message = f"“{shape.queries}” is no name of a file"
        gold.refuse("queries", message, "a name without a folder")
    if files == TREC and shape != GoldShape(queries=shape.queries):
        gold.refuse("files", "a file of qrels has one shape", "“queries” alone")
    return shape


def secret_fields(shape: GoldShape, field: str) -> tuple[str, ...]:
    """Return the names of the gold fields that contain the answers and must not be
    public.
    """
    return (field, *shape.columns, *([shape.document] if shape.document else []))
