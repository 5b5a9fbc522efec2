"""The tokenizers that a text generation task can select in its `task.toml`. The names
of the tokenizers are those of the package sacreBLEU.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Tokenizer(NamedTuple):
    """Describes a tokenizer of sacreBLEU by its module below `sacrebleu.tokenizers`,
    its class name, and the package to install.
    """

    module: str
    kind: str
    packages: str


TOKENIZERS: Mapping[str, Tokenizer] = {
    "zh": Tokenizer("tokenizer_zh", "TokenizerZh", "sacrebleu"),
    "char": Tokenizer("tokenizer_char", "TokenizerChar", "sacrebleu"),
    "intl": Tokenizer("tokenizer_intl", "TokenizerV14International", "sacrebleu"),
    "ja-mecab": Tokenizer("tokenizer_ja_mecab", "TokenizerJaMecab", "sacrebleu[ja]"),
    "ko-mecab": Tokenizer("tokenizer_ko_mecab", "TokenizerKoMecab", "sacrebleu[ko]"),
}
