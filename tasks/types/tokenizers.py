"""The tokenizers that a text generation task can select in its `task.toml`. The names
of the tokenizers are those of the package sacreBLEU.
"""

from collections.abc import Mapping
from typing import NamedTuple


class SacreBleuTokenizer(NamedTuple):
    """Describes a tokenizer of sacreBLEU by its module below `sacrebleu.tokenizers`,
    its class name, and the package to install.
    """

    module: str
    kind: str
    packages: str


TOKENIZERS_BY_NAME: Mapping[str, SacreBleuTokenizer] = {
    "zh": SacreBleuTokenizer("tokenizer_zh", "TokenizerZh", "sacrebleu"),
    "char": SacreBleuTokenizer("tokenizer_char", "TokenizerChar", "sacrebleu"),
    "intl": SacreBleuTokenizer(
        "tokenizer_intl", "TokenizerV14International", "sacrebleu"
    ),
    "ja-mecab": SacreBleuTokenizer(
        "tokenizer_ja_mecab", "TokenizerJaMecab", "sacrebleu[ja]"
    ),
    "ko-mecab": SacreBleuTokenizer(
        "tokenizer_ko_mecab", "TokenizerKoMecab", "sacrebleu[ko]"
    ),
}
