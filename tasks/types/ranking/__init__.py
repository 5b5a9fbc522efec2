"""What the task types have in common whose runs rank candidates: lists of numbers, run files, collections."""

from types import SimpleNamespace

from tasks.types.base import RANKING
from tasks.types.references import lazy
from tasks.types.run_forms import RUN_FORM, TrecForm

_READERS = ("read_gold", "read_inputs", "public_files", "contents")
_OF_TREC = ("topics", "documents", "qrels")


def parts(
    collection: str,
    *readers: str,
    gold_files: tuple[str, ...],
    of_trec: tuple[str, ...] = (),
) -> SimpleNamespace:
    """What such a type says; its collection's module, which needs numpy, is imported with the first reader.
    ``readers`` are further ones of the type, ``of_trec`` of its topics and documents.
    """
    return SimpleNamespace(
        **{name: lazy(collection, name) for name in (*_READERS, *readers)},
        trec=TrecForm(
            **{name: lazy(collection, name) for name in (*_OF_TREC, *of_trec)}
        ),
        is_gold_file=lambda name: name.rpartition("/")[2] in gold_files,
        unit="paper",
        run_form=RUN_FORM,
        filled=lazy("tasks.types.ranking.runs", "filled"),
        show_instances=lazy("tasks.types.ranking.records", "show_instances"),
        drawn_as=RANKING,
    )
