"""The files train: LoRA on a tiny model with random weights, for a few steps. Needs the extra ``train``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from screentest.builders.exports import Export, Source, guided, narrations, preferences

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")
peft: Any = pytest.importorskip("peft")
trl: Any = pytest.importorskip("trl")
datasets: Any = pytest.importorskip("datasets")
tokenizers: Any = pytest.importorskip("tokenizers")

STEPS, WORDS, LONGEST = 3, 1200, 8192
TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
<assistant>{% generation %}{{ message.content }}<end>{% endgeneration %}
{%- else -%}
<{{ message.role }}>{{ message.content }}<end>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<assistant>{% endif -%}"""
SPECIAL = ["<pad>", "<end>", "<system>", "<user>", "<assistant>"]
SHAPE = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": LONGEST,
}


@pytest.fixture(scope="module")
def model(tales: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows nothing, with a tokenizer and a chat template, on disk."""
    directory = tmp_path_factory.mktemp("model")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=WORDS, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(_texts(guided(Source.open(tales))), trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(directory)
    transformers.set_seed(0)
    ends = {"pad_token_id": fast.pad_token_id, "eos_token_id": fast.eos_token_id, "bos_token_id": None}
    config = transformers.LlamaConfig(vocab_size=len(fast), **SHAPE, **ends)
    transformers.LlamaForCausalLM(config).save_pretrained(directory)
    return directory


@pytest.mark.parametrize("make", [guided, narrations], ids=["guided", "narrator"])
def test_conversations_train_a_model_on_the_answers_alone(
    tales: Path, model: Path, tmp_path: Path, make: Callable[[Source], Export]
) -> None:
    rows = _loaded(make, tales, tmp_path)
    settings = trl.SFTConfig(**_settings(tmp_path), assistant_only_loss=True)
    trainer = trl.SFTTrainer(model=str(model), args=settings, train_dataset=rows, peft_config=_lora("CAUSAL_LM"))
    tokenizer, example = trainer.processing_class, trainer.train_dataset[0]
    learnt = [word for word, label in zip(example["input_ids"], example["labels"], strict=True) if label != -100]
    answers = [message["content"] for message in rows[0]["messages"] if message["role"] == "assistant"]
    assert tokenizer.decode(learnt) == "".join(f"{answer}<end>" for answer in answers)
    _train(trainer)


def test_preferences_train_a_model(tales: Path, model: Path, tmp_path: Path) -> None:
    rows = _loaded(preferences, tales, tmp_path)
    settings = trl.DPOConfig(**_settings(tmp_path))
    _train(trl.DPOTrainer(model=str(model), args=settings, train_dataset=rows, peft_config=_lora("CAUSAL_LM")))


def test_preferences_train_a_reward_model(tales: Path, model: Path, tmp_path: Path) -> None:
    rows = _loaded(preferences, tales, tmp_path)
    settings = trl.RewardConfig(**_settings(tmp_path))
    _train(trl.RewardTrainer(model=str(model), args=settings, train_dataset=rows, peft_config=_lora("SEQ_CLS")))


def _texts(export: Export) -> Iterator[str]:
    for row in export.rows:
        yield from (message["content"] for message in row["messages"])


def _loaded(make: Callable[[Source], Export], run: Path, tmp_path: Path) -> Any:
    source = Source.open(run)
    make(source).write(tmp_path / "export", source)
    return datasets.load_dataset(str(tmp_path / "export"), split="train", cache_dir=str(tmp_path / "cache"))


def _settings(tmp_path: Path) -> dict[str, Any]:
    return {
        "output_dir": str(tmp_path / "trained"),
        "max_steps": STEPS,
        "max_length": LONGEST,
        "per_device_train_batch_size": 1,
        "learning_rate": 1e-2,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "disable_tqdm": True,
        "seed": 0,
    }


def _lora(task: str) -> Any:
    return peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"], task_type=task)


def _train(trainer: Any) -> None:
    """Train, and check that the loss is a number and that the adapter learnt something."""
    adapter = {name: one.detach().clone() for name, one in trainer.model.named_parameters() if "lora_" in name}
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == STEPS and all(math.isfinite(loss) for loss in losses)
    changed = [
        name for name, one in trainer.model.named_parameters() if name in adapter and bool((one != adapter[name]).any())
    ]
    assert adapter and {"lora_A", "lora_B"} <= {part for name in changed for part in name.split(".")}
