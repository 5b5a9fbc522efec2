"""Which rows are resampled together where a task names a field for it: citation texts by citing paper."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tasks.types.files import InputFile
from tasks.types.jsonlines import Record, is_records_file, read_records, well_formed
from tasks.types.problems import InputRefused, Problem, Problems, refuse

if TYPE_CHECKING:
    # It needs numpy, and checking a run does not.
    from tasks.types.columns import Classes

#: The names of the instances of a file's records; None for a record that is no instance.
InstanceNames = Callable[[InputFile, Sequence[Record]], Iterable[str | None]]


def ids_or_places(file: InputFile, records: Sequence[Record]) -> Iterable[str | None]:
    return (record.id or str(record.item) for record in records)


def ids_alone(file: InputFile, records: Sequence[Record]) -> Iterable[str | None]:
    return (record.id for record in records)


def unit_by_instance(files: Sequence[InputFile], field: str, names_of: InstanceNames) -> dict[str, str]:
    """The field's value of each instance, from the records of the gold.

    A path with dots reaches into objects. Raises InputRefused with every instance that has no value.
    """
    problems = Problems()
    values: dict[str, str] = {}
    for file in files:
        records = list(read_records(file, [])) if is_records_file(file.name) else []
        for name, record in zip(names_of(file, records), records, strict=True):
            if name is None:
                continue
            value: object = record.value
            for key in field.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, (str, int)) and str(value).strip():
                values[well_formed(name)] = well_formed(str(value))
            else:
                fields = ", ".join(sorted(map(str, record.value)))
                message = f"no “{field}”, by which instances are resampled together (option unit)"
                problems.append(record.problem(message, f"a text or number there; found {fields}"))
    refuse(problems)
    if not values:
        expected = "gold in JSON lines with that field, or the name of a dimension"
        raise InputRefused([Problem(message=f"no instance has “{field}” (option unit)", expected=expected)])
    return values


def clusters_of(
    names: Sequence[str] | None,
    units: "Sequence[str] | Classes",
    features: Mapping[str, Sequence[tuple[str, ...]]],
    field: str,
    values: Mapping[str, str],
) -> list[str]:
    """The cluster of each row that the field makes: the values of instances, or a dimension's classes.

    Raises InputRefused where the instances of one unit are of several.
    """
    if values:
        assert names is not None, "rows of instances have their names"
        clusters = [values.get(name, name) for name in names]
    else:
        clusters = [labels[0] if len(labels) == 1 else "" for labels in features.get(field, [])]
        if not clusters or "" in clusters:
            message = f"not every instance has one class of “{field}” (option unit)"
            expected = "a dimension with one class for each instance"
            raise InputRefused([Problem(message=message, expected=expected)])
    cluster_of: dict[str, str] = {}
    for row, cluster in zip(units, clusters, strict=True):
        unit = row if isinstance(row, str) else row[0]
        if cluster_of.setdefault(unit, cluster) != cluster:
            message = f"“{unit}” is of “{cluster_of[unit]}” and of “{cluster}” by “{field}” (option unit)"
            raise InputRefused([Problem(message=message, expected="one value for all that it has")])
    return clusters
