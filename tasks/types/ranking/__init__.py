"""Shared code of the built-in ranking task types, for lists of candidates, runs, and
files of citation contexts.
"""

from types import SimpleNamespace

from tasks.types.base import RANKING_VIEW, CandidateReordering
from tasks.types.references import make_lazy_function
from tasks.types.run_forms import RUN_FORM, TrecExportFunctions

_READER_NAMES = ("read_gold", "read_inputs", "public_files", "contents")
_TREC_FORM_FUNCTIONS = ("topics", "documents", "qrels")
_CANDIDATE_ORDER_MODULE = "tasks.types.ranking.candidate_order"


def make_lazy_task_type_parts(
    collection: str,
    *readers: str,
    gold_files: tuple[str, ...],
    of_trec: tuple[str, ...] = (),
) -> SimpleNamespace:
    return SimpleNamespace(
        **{
            name: make_lazy_function(collection, name)
            for name in (*_READER_NAMES, *readers)
        },
        trec=TrecExportFunctions(
            **{
                name: make_lazy_function(collection, name)
                for name in (*_TREC_FORM_FUNCTIONS, *of_trec)
            }
        ),
        candidate_order=CandidateReordering(
            renumbered=make_lazy_function(_CANDIDATE_ORDER_MODULE, "renumbered"),
            reordered_files=make_lazy_function(
                _CANDIDATE_ORDER_MODULE, "reordered_files"
            ),
        ),
        is_gold_file=lambda name: name.rpartition("/")[2] in gold_files,
        unit="paper",
        run_form=RUN_FORM,
        filled=make_lazy_function("tasks.types.ranking.runs", "filled"),
        show_instances=make_lazy_function(
            "tasks.types.ranking.records", "show_instances"
        ),
        drawn_as=RANKING_VIEW,
    )
