"""The tokenizers that a task of texts may name, by the names of sacreBLEU."""

from collections.abc import Mapping
from typing import NamedTuple


class Tokenizer(NamedTuple):
    """A class below `sacrebleu.tokenizers`, and what it needs."""

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
