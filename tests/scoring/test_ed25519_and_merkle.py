"""Signatures by the vectors of RFC 8032, and the log's tree by the definitions of RFC 9162."""

import hashlib
import os

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from scoring.offline import merkle
from scoring.offline.ed25519 import FIELD_PRIME, GROUP_ORDER, is_valid_signature

#: RFC 8032, section 7.1, TEST 1024.
LONG = (
    "08b8b2b733424243760fe426a4b54908632110a66c2f6591eabd3345e3e4eb98fa6e264bf09efe12ee50f8f54e9f77b1"
    "e355f6c50544e23fb1433ddf73be84d879de7c0046dc4996d9e773f4bc9efe5738829adb26c81b37c93a1b270b20329d"
    "658675fc6ea534e0810a4432826bf58c941efb65d57a338bbd2e26640f89ffbc1a858efcb8550ee3a5e1998bd177e93a"
    "7363c344fe6b199ee5d02e82d522c4feba15452f80288a821a579116ec6dad2b3b310da903401aa62100ab5d1a36553e"
    "06203b33890cc9b832f79ef80560ccb9a39ce767967ed628c6ad573cb116dbefefd75499da96bd68a8a97b928a8bbc10"
    "3b6621fcde2beca1231d206be6cd9ec7aff6f6c94fcd7204ed3455c68c83f4a41da4af2b74ef5c53f1d8ac70bdcb7ed1"
    "85ce81bd84359d44254d95629e9855a94a7c1958d1f8ada5d0532ed8a5aa3fb2d17ba70eb6248e594e1a2297acbbb39d"
    "502f1a8c6eb6f1ce22b3de1a1f40cc24554119a831a9aad6079cad88425de6bde1a9187ebb6092cf67bf2b13fd65f270"
    "88d78b7e883c8759d2c4f5c65adb7553878ad575f9fad878e80a0c9ba63bcbcc2732e69485bbc9c90bfbd62481d9089b"
    "eccf80cfe2df16a2cf65bd92dd597b0707e0917af48bbb75fed413d238f5555a7a569d80c3414a8d0859dc65a46128ba"
    "b27af87a71314f318c782b23ebfe808b82b0ce26401d2e22f04d83d1255dc51addd3b75a2b1ae0784504df543af8969b"
    "e3ea7082ff7fc9888c144da2af58429ec96031dbcad3dad9af0dcbaaaf268cb8fcffead94f3c7ca495e056a9b47acdb7"
    "51fb73e666c6c655ade8297297d07ad1ba5e43f1bca32301651339e22904cc8c42f58c30c04aafdb038dda0847dd988d"
    "cda6f3bfd15c4b4c4525004aa06eeff8ca61783aacec57fb3d1f92b0fe2fd1a85f6724517b65e614ad6808d6f6ee34df"
    "f7310fdc82aebfd904b01e1dc54b2927094b2db68d6f903b68401adebf5a7e08d78ff4ef5d63653a65040cf9bfd4aca7"
    "984a74d37145986780fc0b16ac451649de6188a7dbdf191f64b5fc5e2ab47b57f7f7276cd419c17a3ca8e1b939ae49e4"
    "88acba6b965610b5480109c8b17b80e1b7b750dfc7598d5d5011fd2dcc5600a32ef5b52a1ecc820e308aa342721aac09"
    "43bf6686b64b2579376504ccc493d97e6aed3fb0f9cd71a43dd497f01f17c0e2cb3797aa2a2f256656168e6c496afc5f"
    "b93246f6b1116398a346f1a641f3b041e989f7914f90cc2c7fff357876e506b50d334ba77c225bc307ba537152f3f161"
    "0e4eafe595f6d9d90d11faa933a15ef1369546868a7f3a45a96768d40fd9d03412c091c6315cf4fde7cb68606937380d"
    "b2eaaa707b4c4185c32eddcdd306705e4dc1ffc872eeee475a64dfac86aba41c0618983f8741c5ef68d3a101e8a3b8ca"
    "c60c905c15fc910840b94c00a0b9d0"
)
#: The same section: secret key, public key, message and signature of each test.
VECTORS = {
    "TEST 1": (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    "TEST 2": (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    "TEST 3": (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
            "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    "TEST 1024": (
        "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
        "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
        LONG,
        (
            "0aab4c900501b3e24d7cdf4663326a3a87df5e4843b2cbdb67cbf6e460fec350aa5371b1508f9f4528ecea23c436d94b"
            "5e8fcd4f681e30a6ac00a9704a188a03"
        ),
    ),
    "TEST SHA(abc)": (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
            "3dca179c138ac17ad9bef1177331a704"
        ),
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_the_vectors_of_the_rfc_hold_and_nothing_near_them(name):
    secret, public, message, signature = map(bytes.fromhex, VECTORS[name])
    assert Ed25519PrivateKey.from_private_bytes(secret).sign(message) == signature
    assert is_valid_signature(public, message, signature)
    assert not is_valid_signature(public, message + b"\0", signature)
    for place in (0, 31, 32, 63):
        changed = bytearray(signature)
        changed[place] ^= 1
        assert not is_valid_signature(public, message, bytes(changed))


def test_what_the_site_signs_is_signed_by_its_key_and_no_other():
    keys = [Ed25519PrivateKey.from_private_bytes(os.urandom(32)) for _ in range(8)]
    for size, key in enumerate(keys):
        message = os.urandom(size * 37)
        signature = key.sign(message)
        holding = [
            is_valid_signature(
                other.public_key().public_bytes_raw(), message, signature
            )
            for other in keys
        ]
        assert holding == [other is key for other in keys]


def test_a_signature_has_one_form():
    """A scalar beyond the order and a point with another encoding are refused (section 5.1.7)."""
    _, public, message, signature = map(bytes.fromhex, VECTORS["TEST 2"])
    scalar = int.from_bytes(signature[32:], "little") + GROUP_ORDER
    assert not is_valid_signature(
        public, message, signature[:32] + scalar.to_bytes(32, "little")
    )
    for encoding in (
        (FIELD_PRIME + 1).to_bytes(32, "little"),
        b"\xff" * 32,
        (1 | 1 << 255).to_bytes(32, "little"),
    ):
        assert not is_valid_signature(encoding, message, signature)
        assert not is_valid_signature(public, message, encoding + signature[32:])


@pytest.mark.parametrize("order", ["1", "2", "4"])
def test_a_key_that_would_sign_everything_signs_nothing(order):
    points = {
        "1": (1).to_bytes(32, "little"),
        "2": (FIELD_PRIME - 1).to_bytes(32, "little"),
        "4": bytes(32),
    }
    assert not is_valid_signature(points[order], b"anything", points["1"] + bytes(32))


def test_what_has_another_length_is_no_signature():
    _, public, message, signature = map(bytes.fromhex, VECTORS["TEST 1"])
    assert not is_valid_signature(public[:-1], message, signature)
    assert not is_valid_signature(public, message, signature + b"\0")


# RFC 9162, sections 2.1.1, 2.1.3.1 and 2.1.4.1, as they are written there.
def power_below(count: int) -> int:
    power = 1
    while 2 * power < count:
        power *= 2
    return power


def tree_hash(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0] if leaves else b"").digest()
    k = power_below(len(leaves))
    return hashlib.sha256(
        b"\1" + tree_hash(leaves[:k]) + tree_hash(leaves[k:])
    ).digest()


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = power_below(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), tree_hash(leaves[k:])]
    return [*path(m - k, leaves[k:]), tree_hash(leaves[:k])]


def proof(m: int, leaves: list[bytes], whole: bool = True) -> list[bytes]:
    if m == len(leaves):
        return [] if whole else [tree_hash(leaves)]
    k = power_below(len(leaves))
    if m <= k:
        return [*proof(m, leaves[:k], whole), tree_hash(leaves[k:])]
    return [*proof(m - k, leaves[k:], False), tree_hash(leaves[:k])]


LEAVES = [bytes([size]) * size for size in range(20)]


@pytest.fixture(scope="module")
def nodes():
    kept = {}

    def given(wanted):
        return {node: kept[node] for node in wanted}

    for index, leaf in enumerate(LEAVES):
        kept.update(
            merkle.compute_completed_nodes(index, merkle.compute_leaf_hash(leaf), given)
        )
        assert merkle.compute_root(index + 1, given) == tree_hash(LEAVES[: index + 1])
    return given


def test_the_tree_of_the_rfc_s_eight_inputs_has_its_known_root():
    """Those of the test programs of Certificate Transparency."""
    inputs = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ]
    assert tree_hash([bytes.fromhex(one) for one in inputs]).hex() == (
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    )
    assert tree_hash([]) == merkle.EMPTY_TREE_ROOT


def test_paths_are_those_of_the_rfc_and_lead_to_the_root_from_their_leaf_alone(nodes):
    for size in range(1, len(LEAVES) + 1):
        root = tree_hash(LEAVES[:size])
        for index in range(size):
            way = merkle.build_inclusion_path(index, size, nodes)
            assert way == path(index, LEAVES[:size])
            places = [
                other
                for other in range(size + 2)
                if merkle.is_included(
                    merkle.compute_leaf_hash(LEAVES[index]), other, size, way, root
                )
            ]
            assert places == [index]
            leaf = merkle.compute_leaf_hash(LEAVES[index])
            assert not merkle.is_included(leaf, index, size, [*way, root], root)
            assert not way or not merkle.is_included(leaf, index, size, way[:-1], root)


def test_a_log_continues_the_one_that_it_was_and_no_other(nodes):
    for second in range(1, len(LEAVES) + 1):
        after = tree_hash(LEAVES[:second])
        for first in range(1, second + 1):
            way, before = (
                merkle.build_consistency_path(first, second, nodes),
                tree_hash(LEAVES[:first]),
            )
            assert way == proof(first, LEAVES[:second])
            assert merkle.is_consistent(first, second, way, before, after)
            other = tree_hash([*LEAVES[: first - 1], b"other"])
            assert not merkle.is_consistent(first, second, way, other, after)
            assert not merkle.is_consistent(first, second, way, before, other)
            assert not merkle.is_consistent(first, second, [*way, after], before, after)
    assert merkle.is_consistent(0, 7, [], merkle.EMPTY_TREE_ROOT, tree_hash(LEAVES[:7]))
    assert not merkle.is_consistent(0, 7, [], bytes(32), tree_hash(LEAVES[:7]))
