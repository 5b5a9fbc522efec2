"""What schema 0.3.0 of Every Eval Ever asks of a record and of a sample, as we read it; it is not here."""

import re
from collections.abc import Iterator

#: What must be there, by where it stands.
RECORD = {
    (): {
        "schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info",
        "eval_library", "evaluation_results",
    },
    ("source_metadata",): {"source_type", "source_organization_name", "evaluator_relationship"},
    ("eval_library",): {"name", "version"},
    ("model_info",): {"name", "id", "additional_details"},
    ("model_info", "additional_details"): {"deployment_type", "model_availability"},
    ("evaluation_results",): {"evaluation_name", "source_data", "metric_config", "score_details"},
    ("evaluation_results", "metric_config"): {"lower_is_better"},
    ("evaluation_results", "score_details"): {"score"},
    ("evaluation_results", "source_data"): {"dataset_name", "source_type", "url"},
}  # fmt: skip
SAMPLE = {
    (): {
        "schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "interaction_type",
        "input", "answer_attribution", "evaluation", "output",
    },
    ("input",): {"raw", "reference"},
    ("output",): {"raw"},
    ("answer_attribution",): {"turn_idx", "source", "extracted_value", "extraction_method", "is_terminal"},
    ("evaluation",): {"score", "is_correct"},
}  # fmt: skip
#: Nothing else stands at the top.
MAY = {"evaluation_timestamp", "detailed_evaluation_results"}, {"evaluation_result_id"}
#: Every value of these is a string.
FREE = {"additional_details", "details"}
SAMPLES_PATH = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}_samples\.jsonl"
)


def check(content: dict, *, is_sample: bool = False) -> None:
    must, may = (SAMPLE, MAY[1]) if is_sample else (RECORD, MAY[0])
    for path, wanted in must.items():
        assert all(wanted <= set(entry) for entry in at(content, path)), path
    assert set(content) <= must[()] | may
    for free in free_objects(content):
        assert all(isinstance(value, str) for value in free.values())


def at(content, path) -> list:
    """Every object at a path; lists are gone through."""
    found = [content]
    for name in path:
        below = [value[name] for value in found]
        found = [
            entry
            for value in below
            for entry in (value if isinstance(value, list) else [value])
        ]
    return found


def free_objects(value) -> Iterator[dict]:
    for name, below in value.items() if isinstance(value, dict) else enumerate(value):
        if name in FREE:
            yield below
        elif isinstance(below, dict | list):
            yield from free_objects(below)
