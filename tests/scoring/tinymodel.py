"""A T5 made by hand: it answers 1 where its input holds the word `yes`, and 0 otherwise.

No training, no download.
"""

from pathlib import Path

WORDS = ("<pad>", "</s>", "<unk>", "0", "1", "yes", "premise", ":", "hypothesis")
START, END, NO, YES, MARKED = 0, 1, 3, 4, 5
SIZE = len(WORDS) + 1
SIGNAL = SIZE - 1


def make_model(folder: Path) -> Path:
    """Every word is a direction of its own; attention averages the input, in which `yes` points to `1`."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=len(WORDS),
        d_model=SIZE,
        d_kv=SIZE,
        d_ff=2,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=1,
        tie_word_embeddings=False,
        decoder_start_token_id=START,
        pad_token_id=START,
        eos_token_id=END,
    )
    model = T5ForConditionalGeneration(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(1.0 if "layer_norm" in name else 0.0)
        model.shared.weight[:, : len(WORDS)] = torch.eye(len(WORDS))
        reading = model.decoder.block[0].layer[1].EncDecAttention
        reading.v.weight[SIGNAL, MARKED] = 1.0
        reading.o.weight[SIGNAL, SIGNAL] = 100.0
        # Having begun it says 0, or 1 where the signal is strong; having said either, it ends.
        model.lm_head.weight[NO, START] = 1.0
        model.lm_head.weight[YES, SIGNAL] = 1.0
        model.lm_head.weight[END, [NO, YES]] = 1e6
    # Models may say that they draw at random among several; ours answer the likeliest all the same.
    model.generation_config.update(do_sample=True, num_beams=3, temperature=5.0)
    model.save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def _tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(
        models.WordLevel(
            {word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", END)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )
