"""Compute hashes and proofs of the Merkle tree of an append-only log, as in RFC 9162
(sections 2.1.1 to 2.1.4).

A log stores the hashes of the tree's complete subtrees, which never change. Node
(level, index) is the subtree of the 2**level leaves from leaf ``index << level``. The
functions compute all roots and proofs from the hashes of complete subtrees.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

TreeNode = tuple[int, int]
#: A function of type Nodes returns the hashes of complete subtrees of the Merkle tree.
NodeHashesFunction = Callable[[Sequence[TreeNode]], Mapping[TreeNode, bytes]]
EMPTY_TREE_ROOT = hashlib.sha256(b"").digest()


def compute_leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\0" + leaf).digest()


def compute_node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def compute_completed_nodes(
    index: int, leaf: bytes, nodes: NodeHashesFunction
) -> dict[TreeNode, bytes]:
    """Return the nodes of the Merkle tree that the leaf at this index completes,
    including the leaf.
    """
    levels = (
        ~index & -~index
    ).bit_length() - 1  # number of trailing one bits of the index
    known = nodes([(level, (index >> level) - 1) for level in range(levels)])
    made = {(0, index): leaf}
    for level in range(levels):
        left, own = known[level, (index >> level) - 1], made[level, index >> level]
        made[level + 1, index >> level + 1] = compute_node_hash(left, own)
    return made


def compute_root(size: int, nodes: NodeHashesFunction) -> bytes:
    return _compute_range_hashes([(0, size)], nodes)[0] if size else EMPTY_TREE_ROOT


def build_inclusion_path(
    index: int, size: int, nodes: NodeHashesFunction
) -> list[bytes]:
    """Return the audit path of a leaf in the Merkle tree of the first ``size`` leaves,
    from the leaf to the root.
    """
    assert 0 <= index < size
    parts: list[tuple[int, int]] = []
    begin, end = 0, size
    while end - begin > 1:
        middle = begin + _find_largest_power_below(end - begin)
        if index < middle:
            parts, end = [(middle, end), *parts], middle
        else:
            parts, begin = [(begin, middle), *parts], middle
    return _compute_range_hashes(parts, nodes)


def build_consistency_path(
    first: int, second: int, nodes: NodeHashesFunction
) -> list[bytes]:
    """Return the proof that the Merkle tree of ``first`` leaves is a prefix of the
    Merkle tree of ``second`` leaves.
    """
    assert 0 < first <= second
    parts: list[tuple[int, int]] = []
    begin, end, is_whole = 0, second, True
    while first != end:
        middle = begin + _find_largest_power_below(end - begin)
        if first <= middle:
            parts, end = [(middle, end), *parts], middle
        else:
            parts, begin, is_whole = [(begin, middle), *parts], middle, False
    return _compute_range_hashes(parts if is_whole else [(begin, end), *parts], nodes)


def is_included(
    leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> bool:
    """Return True if the audit path proves that the leaf at this index belongs to the
    Merkle tree with this root (section 2.1.3.2 of RFC 9162).
    """
    found = (
        _compute_roots_of_path(leaf, index, size, path) if 0 <= index < size else None
    )
    return found is not None and found[1] == root


def is_consistent(
    first: int, second: int, path: Sequence[bytes], before: bytes, after: bytes
) -> bool:
    """Return True if the path proves that the Merkle tree of ``first`` leaves is a
    prefix of the tree of ``second`` leaves (section 2.1.4.2 of RFC 9162).

    An empty Merkle tree is a prefix of every tree without a proof.
    """
    if first in (0, second):
        return not path and before == (after if first else EMPTY_TREE_ROOT)
    if not 0 < first < second or not path:
        return False
    begin, *steps = [before, *path] if first & first - 1 == 0 else path
    level = (
        first & -first
    ).bit_length() - 1  # level of the last complete subtree of the older tree
    return _compute_roots_of_path(
        begin, first - 1 >> level, (second - 1 >> level) + 1, steps
    ) == (
        before,
        after,
    )


def _compute_roots_of_path(
    value: bytes, place: int, size: int, path: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """Return the root that follows from only the left siblings in a proof path, and the
    root that follows from all siblings.

    The result is None if the proof path has the wrong length.
    """
    old, new, last = value, value, size - 1
    for beside in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            old, new = compute_node_hash(beside, old), compute_node_hash(beside, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = compute_node_hash(new, beside)
        place, last = place >> 1, last >> 1
    return (old, new) if last == 0 else None


def _compute_range_hashes(
    parts: Sequence[tuple[int, int]], nodes: NodeHashesFunction
) -> list[bytes]:
    """Return the hash of the Merkle tree over each range of leaves (begin, end)."""
    whole = [list(list_complete_subtrees(begin, end)) for begin, end in parts]
    known = nodes([node for part in whole for node in part])
    hashes = []
    for part in whole:
        value = known[part[-1]]
        for node in part[-2::-1]:
            value = compute_node_hash(known[node], value)
        hashes.append(value)
    return hashes


def list_complete_subtrees(begin: int, end: int) -> list[TreeNode]:
    """Return the largest complete Merkle subtrees that together contain the leaves from
    ``begin`` to ``end``.
    """
    found = []
    while begin < end:
        level = (end - begin).bit_length() - 1
        found.append((level, begin >> level))
        begin += 1 << level
    return found


def _find_largest_power_below(count: int) -> int:
    return 1 << (count - 1).bit_length() - 1
