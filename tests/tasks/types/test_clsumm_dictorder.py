"""The order of CPython 2.7's dicts, held to what that interpreter printed."""

import pytest

from tasks.types.clsumm.pairs import hash_as_python2_string, order_as_python2_dict


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0), ("a", 12416037344), ("b", 12544037731), ("0", 6144018481)],
)
def test_hashes_are_those_of_a_64_bit_build_without_randomisation(text, value):
    """`python2.7 -c "print hash('a')"` printed 12416037344."""
    assert hash_as_python2_string(text) == value


def test_a_hash_of_minus_1_is_minus_2_since_that_interpreter_keeps_minus_1_for_errors():
    text = ' =\x13\x1c<) ;,?"\x04\x13'
    value = ord(text[0]) << 7
    for character in text:
        value = (value * 1_000_003) % 2**64 ^ ord(character)
    assert value ^ len(text) == 2**64 - 1
    assert hash_as_python2_string(text) == 2**64 - 2


@pytest.mark.parametrize(
    ("inserted", "printed"),
    [
        ("abcd", "acbd"),
        ("dcba", "acbd"),
        ("123", "132"),
        (["one", "two", "three"], ["three", "two", "one"]),
        (["apple", "banana", "cherry"], ["cherry", "apple", "banana"]),
    ],
)
def test_keys_come_as_that_interpreter_printed_them(inserted, printed):
    assert order_as_python2_dict(inserted) == list(printed)


def test_a_key_given_twice_comes_once():
    assert order_as_python2_dict(["7", "3", "7"]) == order_as_python2_dict(["7", "3"])


def test_every_key_of_a_large_dict_comes_once():
    keys = [str(number) for number in range(1000)]
    assert sorted(order_as_python2_dict(keys)) == sorted(keys)
    assert order_as_python2_dict(keys) != keys


def test_the_order_of_insertion_decides_between_keys_that_fall_on_one_slot():
    keys = [str(number) for number in range(30)]
    slots: dict[int, list[str]] = {}
    for key in keys:
        slots.setdefault(hash_as_python2_string(key) % 8, []).append(key)
    first, second = next(own[:2] for own in slots.values() if len(own) > 1)
    assert (
        order_as_python2_dict([first, second])
        == order_as_python2_dict([second, first])[::-1]
    )
