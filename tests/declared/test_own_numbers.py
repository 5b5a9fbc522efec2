"""What a file of measures may give back, and what is believed of what its process leaves behind."""

import numpy as np
import pytest

from scoring.metrics.own import (
    MeasureCall,
    OwnMeasure,
    OwnWeightedMeasure,
    read_sandboxed_values,
    trust_measures_code,
)
from tasks.types.declared.own_measures import (
    MeasureFailed,
    make_missing_carriers_warnings,
)

TEXT = """import numpy as np

from scoring.metrics.base import Metric, WeightedMetric


class Share(Metric):
    def __init__(self, name, rules, *, given=None):
        super().__init__(name, rules)
        self.add = (given or {}).get("add", 0)

    def instance_stats(self, gold, answers):
        return ROWS

    def aggregate(self, sums):
        return AGGREGATE


class Weighed(WeightedMetric):
    def instance_stats(self, gold, answers):
        return np.ones((len(gold), 2))

    def value(self, rows, weights):
        return weights.sum(axis=-1)
"""
ROWS = "np.array([[one == other, 1.0] for one, other in zip(gold, answers)], dtype=float) + self.add"
SHARE = "np.divide(sums[..., 0], sums[..., 1], out=np.full(sums.shape[:-1], np.nan), where=sums[..., 1] > 0)"


def measure(
    aggregate: str = SHARE,
    rows: str = ROWS,
    called: str = "Share",
    kind: type = OwnMeasure,
    **given,
):
    text = TEXT.replace("AGGREGATE", aggregate).replace("ROWS", rows)
    return kind(
        "share",
        "corrected",
        given=given,
        text=text,
        called=called,
        facts={"higher_is_better": False},
    )


def told(call) -> str:
    with trust_measures_code(), pytest.raises(MeasureFailed) as refused:
        call()
    [problem] = refused.value.problems
    return f"{problem.line}: {problem.message}; {problem.expected}"


def test_its_numbers_are_those_of_the_class_and_undefined_ones_stay_so():
    with trust_measures_code():
        assert measure().instance_stats("ab", "ac").tolist() == [[1, 1], [0, 1]]
        assert measure(add=1).instance_stats("ab", "ac").tolist() == [[2, 2], [1, 2]]
        found = measure().aggregate(np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert np.array_equal(found, [0.5, np.nan], equal_nan=True)
    assert measure().higher_is_better is False
    assert measure().statistic.split(":")[0::2] == ["own", "Share"]
    assert len(measure().statistic.split(":")[1]) == 12


def test_one_of_rows_gives_a_value_for_each_weighting():
    weighed = measure(called="Weighed", kind=OwnWeightedMeasure)
    with trust_measures_code():
        assert weighed.value(np.ones((3, 2)), np.ones((4, 3))).tolist() == [3] * 4
        assert weighed.total(np.ones((3, 3))) == 3


def test_carriers_of_its_own_decide_how_many_units_there_are():
    weighed = measure(called="Weighed", kind=OwnWeightedMeasure)
    rows = np.array([[unit, unit < 4, 1.0] for unit in range(9)])
    assert weighed.sum_carriers_by_unit(rows).sum() == 9
    weighed.carriers = (0, 1)
    assert weighed.sum_carriers_by_unit(rows).sum(axis=0).tolist() == [4, 9]
    weighed.carriers = (2,)
    assert told(lambda: weighed.instance_stats("ab", "ab")).endswith(
        "gives 2 columns, and `carriers` names 2; the numbers of columns"
    )


@pytest.mark.parametrize(
    ("declared", "count"),
    [("", 1), ("carriers = (1,)", 0), ("has_interval = False", 0)],
)
def test_who_declares_no_carriers_is_warned(declared, count):
    text = TEXT.replace("(WeightedMetric):", f"(WeightedMetric):\n    {declared}")
    warnings = make_missing_carriers_warnings(text)
    assert len(warnings) == count
    assert all("“Weighed” does not declare `carriers`" in own for own in warnings)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("sums", "None: aggregate of “Share” gives 3 × 2 values; 3"),
        ("sums.sum()", "None: aggregate of “Share” gives 1 values; 3"),
        (
            "1 / sums[..., 2]",
            "15: “Share” ended in IndexError when aggregate was computed; ",
        ),
        (
            "np.full(sums.shape[:-1], np.inf)",
            "None: aggregate of “Share” gives an infinite value; a finite one,",
        ),
        (
            "np.random.default_rng().random(3)",
            "None: aggregate of “Share” gives other numbers when it is comp",
        ),
    ],
)
def test_what_is_no_value_is_told(aggregate, expected):
    assert told(lambda: measure(aggregate).aggregate(np.ones((3, 2)))).startswith(
        expected
    )


def test_of_a_whole_run_one_value_is_expected():
    assert told(lambda: measure("sums").aggregate(np.ones(2))).endswith(
        "gives 2 values; 1"
    )


def test_a_file_that_cannot_be_read_is_told_by_its_line():
    assert told(lambda: measure("1 +").aggregate(np.ones(2))).startswith(
        "15: “Share” ended in SyntaxError"
    )


@pytest.mark.parametrize(
    "rows", ["np.ones((2, 0))", "np.ones(2)", "np.ones((3, 1))", "np.ones((2, 1, 1))"]
)
def test_rows_are_one_for_each_instance_and_hold_something(rows):
    own = measure(rows=rows)
    assert told(lambda: own.instance_stats("ab", "ab")).endswith(
        "numbers; a row for each of 2 instances"
    )


def left(said, data: bytes | None, tmp_path) -> str:
    call = MeasureCall(
        text="",
        called="Share",
        name="",
        rules="",
        given={},
        method="aggregate",
        arguments=(),
    )
    if data is not None:
        (tmp_path / "values").write_bytes(data)
    return told(lambda: read_sandboxed_values(call, said, lambda name: tmp_path / name))


@pytest.mark.parametrize(
    ("said", "data", "expected"),
    [
        ({"shape": [2]}, None, "left no numbers"),
        ({"shape": [2]}, bytes(8), "left no numbers"),
        ({"shape": [-1]}, bytes(8), "ended without an answer"),
        ({"shape": ["1"]}, bytes(8), "ended without an answer"),
        ({"shape": 1}, bytes(8), "ended without an answer"),
        (
            {"failed": "", "line": None},
            None,
            "gives other numbers when it is computed again",
        ),
        (
            {"failed": "KeyError", "line": 3},
            None,
            "3: “Share” ended in KeyError when aggregate was computed",
        ),
        ({"failed": "a b", "line": 3}, None, "ended without an answer"),
        ({"failed": "", "line": 3}, None, "ended without an answer"),
        (None, None, "ended without an answer"),
    ],
)
def test_of_what_a_process_leaves_nothing_is_believed(said, data, expected, tmp_path):
    assert expected in left(said, data, tmp_path)


def test_numbers_that_a_process_leaves_are_read_in_their_shape(tmp_path):
    (tmp_path / "values").write_bytes(np.arange(2.0).tobytes())
    call = MeasureCall(
        text="",
        called="Share",
        name="",
        rules="",
        given={},
        method="aggregate",
        arguments=(),
    )
    for shape in ([2], [1, 2], [2, 1]):
        found = read_sandboxed_values(
            call, {"shape": shape}, lambda name: tmp_path / name
        )
        assert (list(found.shape), found.ravel().tolist()) == (shape, [0, 1])
    (tmp_path / "values").write_bytes(b"")
    assert read_sandboxed_values(
        call, {"shape": [0]}, lambda name: tmp_path / name
    ).shape == (0,)
