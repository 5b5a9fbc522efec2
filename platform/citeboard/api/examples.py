"""Examples of every request and response in the API schema, built from one example per
field.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

#: EXAMPLE_MAPPING_KEYS contains the keys of nested mappings in examples, one for each level.
EXAMPLE_MAPPING_KEYS = {
    "scores": ["overlap_f1_micro"],
    "metrics": ["overlap_f1_micro"],
    "breakdowns": ["topic", "D01-1001", "overlap_f1_micro"],
}
MISSING_EXAMPLE = object()
#: RARE_RESPONSE_FIELDS contains fields that most responses of the API lack.
RARE_RESPONSE_FIELDS = {
    "infinite",
    "withheld",
    "ranks_of",
    "is_count",
    "retry_after",
    "parts",
}


@cache
def _read_example_values() -> dict[str, Any]:
    """Return example values for fields of the API schema.

    Each key of the mapping is the name of a field, or `COMPONENT.FIELD` for a field of
    a single component.
    """
    values: dict[str, Any] = json.loads(
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    )
    return values


def add_examples_to_schema(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add `example` to each schema of the API.

    The library drf-spectacular calls this function.
    """
    components = result["components"]["schemas"]
    for methods in result["paths"].values():
        for operation in methods.values():
            bodies = [
                *operation["responses"].values(),
                operation.get("requestBody") or {},
            ]
            for media in (
                media for body in bodies for media in body.get("content", {}).values()
            ):
                if name := _find_component_name(media["schema"]):
                    media["example"] = _build_component_example(name, components)
    return result


def _build_component_example(name: str, components: dict[str, Any]) -> dict[str, Any]:
    """Return an example of a component of the API schema.

    The example omits fields without example values, and a test reports these fields.
    """
    while "properties" not in components[name]:
        # The example uses a component's first alternative, which is the most common.
        name = _find_component_name(components[name]) or ""
    fields = components[name]["properties"]
    values = {
        field: _build_field_example(name, field, part, components)
        for field, part in fields.items()
        if field not in RARE_RESPONSE_FIELDS and part.get("format") != "binary"
    }
    return {
        field: value for field, value in values.items() if value is not MISSING_EXAMPLE
    }


def _build_field_example(
    name: str, field: str, part: dict[str, Any], components: dict[str, Any]
) -> Any:
    values = _read_example_values()
    if f"{name}.{field}" in values:
        return values[f"{name}.{field}"]
    below = _find_component_name(part) or _find_component_name(part.get("items", {}))
    if below and "properties" in components[below]:
        composed = _build_component_example(below, components)
        return [composed] if part.get("type") == "array" else composed
    inner = part.get("additionalProperties")
    if inner and field in EXAMPLE_MAPPING_KEYS:
        return _build_mapping_example(EXAMPLE_MAPPING_KEYS[field], inner, components)
    return values.get(field, MISSING_EXAMPLE)


def _build_mapping_example(
    names: list[str], part: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    first, *rest = names
    if below := _find_component_name(part):
        return {first: _build_component_example(below, components)}
    return {
        first: _build_mapping_example(rest, part["additionalProperties"], components)
    }


def _find_component_name(part: dict[str, Any]) -> str | None:
    """Return the name of the component to which a schema refers, even if the schema
    allows null.
    """
    reference = (part.get("allOf") or part.get("oneOf") or [part])[0].get("$ref")
    return reference.rpartition("/")[2] if reference else None
