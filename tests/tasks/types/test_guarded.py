"""Readers of TOML, YAML and JSON refuse a text beyond a limit by what they found, the limit and the line."""

import json
import sys

import pytest

from tasks.submissions.yaml_reader import YAML_LIMITS, read_yaml
from tasks.types.guarded.json_reader import (
    JSON,
    read_json,
    read_json_line,
    read_json_objects,
)
from tasks.types.guarded.limits import TextLimits, TextUnreadable, compute_nesting_depth
from tasks.types.guarded.toml_reader import MAX_KEY_PARTS, TOML, read_toml

SMALL = TextLimits(size=100, depth=3, digits=5)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


class TestJson:
    def test_a_value_within_the_limits_is_that_of_the_standard_library(self):
        text = '{"a": [1, -2.5e3, true, null, "[[[[["], "é": {"b": {}}}'
        assert read_json(text) == read_json(text.encode()) == json.loads(text)

    def test_of_two_members_with_one_name_the_last_counts(self):
        assert (
            read_json('{"a": 1, "a": 2}')
            == read_json_line('{"a": 1, "a": 2}')
            == {"a": 2}
        )

    @pytest.mark.parametrize("read", [read_json, read_json_line])
    def test_lists_as_deep_as_the_limit_are_read_and_deeper_ones_refused(self, read):
        assert read(nested(JSON.depth))
        with pytest.raises(
            TextUnreadable, match=r"nested 101 deep \(limit: 100\) in line 1"
        ):
            read(nested(JSON.depth + 1))

    @pytest.mark.parametrize("read", [read_json, read_json_line])
    def test_a_depth_that_the_interpreter_refuses_is_refused_by_its_number(self, read):
        with pytest.raises(TextUnreadable, match=r"nested 20,000 deep"):
            read("[" * 20_000)

    def test_brackets_in_texts_and_beside_one_another_are_not_deep(self):
        text = json.dumps([["["] * 200, '"[' * 200, "\\" + "{" * 200])
        assert read_json(text) == json.loads(text)

    @pytest.mark.parametrize("sign", ["", "-"])
    def test_a_number_of_more_digits_than_the_limit_is_refused_by_its_line(self, sign):
        assert sys.get_int_max_str_digits() == JSON.digits
        with pytest.raises(
            TextUnreadable, match=r"4,301 digits \(limit: 4,300\) in line 3"
        ):
            read_json(f'{{"a": 0.{"1" * 5000},\n"b": [\n{sign}{"9" * 4301}]}}')

    def test_a_text_of_more_bytes_than_the_limit_is_refused(self):
        assert read_json('"' + "é" * 49 + '"', SMALL)
        with pytest.raises(TextUnreadable, match=r"102 bytes \(limit: 100\)"):
            read_json('"' + "é" * 50 + '"', SMALL)

    def test_bytes_that_are_no_utf8_are_refused_by_their_line(self):
        with pytest.raises(TextUnreadable, match="not UTF-8 in line 2"):
            read_json(b'["a",\n"\xff"]')

    @pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999"])
    def test_what_is_no_finite_number_is_refused(self, text):
        with pytest.raises(TextUnreadable, match=f"{text} is not a finite number"):
            read_json(text)

    def test_a_caller_reads_constants_in_its_own_way(self):
        assert read_json("[Infinity, 1]", constant=float) == [float("inf"), 1]

    def test_lines_are_read_together_up_to_the_same_depth(self):
        deepest = f'{{"a": {nested(JSON.depth - 1)}}}\n'
        assert len(read_json_objects(deepest * 3)) == 3
        with pytest.raises(TextUnreadable, match="nested 101 deep"):
            read_json_objects(deepest + f'{{"a": {nested(JSON.depth)}}}\n')

    @pytest.mark.parametrize("text", ['{"a": 1}\n2\n', '{"a":\n1}\n{"a": 2}\n'])
    def test_lines_are_read_together_if_each_is_one_object(self, text):
        with pytest.raises(ValueError, match="not one object on each line"):
            read_json_objects(text)


class TestToml:
    def test_tables_are_those_of_a_text_with_every_notation(self):
        text = "a.b = 1\n[c]\nd = [{e = '''[[\n.'''}, {e = \"#.=\"}] # .\n[[f.g]]\nh = 1.5\n"
        assert read_toml(text) == {
            "a": {"b": 1},
            "c": {"d": [{"e": "[[\n."}, {"e": "#.="}]},
            "f": {"g": [{"h": 1.5}]},
        }

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (f"a = 1\nb = {'[' * 20_000}", r"nested 20,000 deep \(limit: 50\) in line 2"),
            ("a = " + "{a = " * 20_000, r"nested 20,000 deep \(limit: 50\) in line 1"),
            (f"a = {nested(50)}", r"nested 50 deep|nested 51 deep"),
            (f"a = {'9' * 5000}", r"a number of 5,000 digits \(limit: 60\) in line 1"),
            (f"\na = 0x{'f' * 61}", r"a number of 61 digits \(limit: 60\) in line 2"),
            (f"a = '''\n'''\n{'a.' * 50}a = 1", r"more than 50 parts in line 3"),
            ('"a" . ' * 60 + "a = 1", r"more than 50 parts in line 1"),
            (f"[{'a.' * 60}a]", r"more than 50 parts in line 1"),
            ("a = 1\nb = ]", r"Invalid value in line 2, column 5"),
            (f"a = 0x{'f' * 50}", r"^a number of 61 digits \(limit: 60\)$"),
            (b"\n\n\xff", r"not UTF-8 in line 3"),
            ("a" * (TOML.size + 1), r"1,048,577 bytes \(limit: 1,048,576\)"),
        ],
        ids=range(12),
    )  # fmt: skip
    def test_what_is_not_read_is_refused_with_its_line(self, text, words):
        with pytest.raises(TextUnreadable, match=words):
            read_toml(text)

    @pytest.mark.parametrize("before", ["", "b = 1\n"])
    def test_a_key_of_as_many_parts_as_the_limit_is_read(self, before):
        key = "a." * (MAX_KEY_PARTS - 1) + "a"
        read_toml(f"{before}{key} = 1")
        with pytest.raises(TextUnreadable, match=f"more than {MAX_KEY_PARTS} parts"):
            read_toml(f"{before}a.{key} = 1")

    @pytest.mark.parametrize("text", ["a = '''x", 'a = "x', "a = [", 'a = """\\"""'])
    def test_a_fault_at_the_end_of_the_text_has_no_line(self, text):
        with pytest.raises(TextUnreadable) as refused:
            read_toml(text)
        assert refused.value.line is None or refused.value.line == 1


class TestYaml:
    def test_a_text_within_the_limits_is_read(self):
        assert read_yaml("a: [1, {b: 2.5}]\nc: |\n  x\n") == {
            "a": [1, {"b": 2.5}],
            "c": "x\n",
        }

    def test_lists_as_deep_as_the_limit_are_read(self):
        assert (
            compute_nesting_depth(read_yaml(nested(YAML_LIMITS.depth)))
            == YAML_LIMITS.depth
        )
        assert (
            compute_nesting_depth(read_yaml("- " * YAML_LIMITS.depth + "a"))
            == YAML_LIMITS.depth
        )

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (f"a: 1\nb: {'[' * 1600}", r"nested 21 deep \(limit: 20\) in line 2"),
            (nested(21), r"nested 21 deep \(limit: 20\) in line 1"),
            ("- " * 21 + "a", r"nested 21 deep \(limit: 20\) in line 1"),
            ("a: &a [1]\nb: *a", r"an alias, which is not read in line 2"),
            (f"a: {'9' * 61}", r"a number of 61 digits \(limit: 60\) in line 1"),
            ("a: !!python/name:os.system", r"could not determine a constructor"),
            (b"a: 1\nb: \xff", r"not UTF-8 in line 2"),
            ("a" * (YAML_LIMITS.size + 1), r"262,145 bytes \(limit: 262,144\)"),
        ],
        ids=range(8),
    )
    def test_what_is_not_read_is_refused_with_its_line(self, text, words):
        with pytest.raises(TextUnreadable, match=words):
            read_yaml(text)

    def test_short_aliases_are_read_where_a_caller_takes_them(self):
        text = "a: &x {b: [1, 2]}\nc: *x\nd: {<<: *x, e: 3}"
        same = {"b": [1, 2]}
        expected = {"a": same, "c": same, "d": {**same, "e": 3}}
        assert read_yaml(text, takes_aliases=True) == expected

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a: &a [*a]", "an alias within a value that has an anchor in line 1"),
            ("a: &a [1]\nb: &b [*a, *a]", "an alias within a value .* in line 2"),
            (f"a: &a [{'1, ' * 50}]", "an anchor around more than 50 values in line 1"),
            (f"a: &a 1\nb: [{'*a, ' * 1001}]", "over 1,000 aliases in line 2"),
        ],
        ids=range(4),
    )
    def test_aliases_that_make_a_short_text_large_are_refused(self, text, words):
        with pytest.raises(TextUnreadable, match=words):
            read_yaml(text, takes_aliases=True)
