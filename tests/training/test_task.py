"""The task of a run, and its initial weights."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError
from one2set.model.folder import load_heads, load_model, save_model
from one2set.model.heads import Heads
from one2set.model.settrans import SetTrans
from one2set.training.config import Config
from one2set.training.run import Run, RunMetadata
from one2set.training.systems import SYSTEMS, System
from one2set.training.task import create_task, load_initial_heads, open_run
from tests.model.tiny import V, settrans
from tests.training.conftest import SETTINGS, Miniature


def test_a_missing_init_names_the_command_that_creates_it(
    corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = System("transformer", "sequence", "likelihood", "greedy", starts_from="transformer")
    monkeypatch.setitem(SYSTEMS, "later", later)
    open_run(tmp_path / "run", corpus_folder, scale="tiny", system="transformer")
    open_run(tmp_path / "run", corpus_folder, scale="tiny", system="later", init=Path("run"))
    with pytest.raises(ConfigError, match="--system transformer --output RUN, then pass --init"):
        open_run(tmp_path / "run", corpus_folder, scale="tiny", system="later")


def test_a_run_can_start_from_another_ones_model(corpus_folder: Path, tmp_path: Path) -> None:
    miniature = Miniature(Corpus(corpus_folder))
    before = miniature.run(tmp_path / "before", "limits.steps=2")
    miniature.train(before)
    saved = load_model(before.model)
    assert saved.config["system"] == "settrans"

    def start(init: Path, *settings: str, system: str = "settrans") -> torch.nn.Module:
        metadata = RunMetadata.new(system=system, seed=9, corpus=miniature.corpus, init=init)
        config = Config.scale("tiny").override([*SETTINGS, *settings])
        return miniature.task(Run(tmp_path / "run", metadata, config)).built.objective

    for init in (before.folder, before.model):
        network = start(init).network
        assert isinstance(network, SetTrans)
        for name, tensor in saved.network.state_dict().items():
            assert torch.equal(network.state_dict()[name], tensor), name
    with pytest.raises(ConfigError, match=r"its codes\.weight is \(8, 16\), .* is missing"):
        start(before.folder, system="transformer")
    with pytest.raises(ConfigError, match=r"is \(8, 16\), but this run's is \(4, 16\)"):
        start(before.folder, "model.num_codes=4")


def test_a_run_records_the_number_of_word_pieces(tmp_path: Path) -> None:
    """Its network knows all of them, whatever the scale says."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordPieceTrainer(special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(["graphs and sets"], trainer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"title": "graphs", "abstract": "and sets", "keyphrases": ["sets"]}\n')
    corpus = tmp_path / "corpus"
    prepare(corpus, Inputs(train=[str(documents)]), tokenizer=tmp_path / "tokenizer.json")
    size = len(SPECIALS) + tokenizer.get_vocab_size()
    for changes in ((), (f"model.vocabulary_size={size + 1}",)):
        run, _ = open_run(tmp_path / "run", corpus, scale="tiny", changes=changes)
        assert run.config.model.vocabulary_size == size
        assert create_task(run, Corpus(corpus)).built.network.vocabulary_size == size
    with pytest.raises(ConfigError, match=f"size is {size - 1}, but .* has {size} word pieces"):
        open_run(tmp_path / "run", corpus, changes=[f"model.vocabulary_size={size - 1}"])
    with run.locked():
        pass
    again, messages = open_run(tmp_path / "run", corpus, resume=True, scale="tiny")
    assert (again.config, messages) == (run.config, [])


# No keyphrase of the sample is frequent enough for the phrase classifier.
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_heads_of_a_run_start_from_those_of_its_init(corpus_folder: Path, tmp_path: Path) -> None:
    miniature = Miniature(Corpus(corpus_folder))
    before = miniature.run(tmp_path / "before", "limits.steps=2", "heads.span_weight=1")
    miniature.train(before)
    after = miniature.run(tmp_path / "after", "heads.span_weight=1", seed=9, init=before.folder)
    saved, started = load_heads(before.model), miniature.task(after).built.heads
    assert saved is not None
    assert started is not None
    for name, tensor in saved.state_dict().items():
        assert torch.equal(started.state_dict()[name], tensor), name


def test_heads_start_from_those_of_another_model(tmp_path: Path) -> None:
    def heads(*phrases: str, hidden: int = 4) -> Heads:
        known = PhraseList({(phrase,): KnownPhrase(phrase, 20) for phrase in phrases})
        return Heads(
            known, documents=90, width=16, span_width=6, phrase_width=hidden, dropout=0.0
        ).eval()

    before = heads("graph", "network", "set")
    vocabulary = WordVocabulary([*SPECIALS, *map(str, range(len(SPECIALS), V))], size=V)
    save_model(tmp_path / "model", settrans(), vocabulary, heads=before)

    after = heads("set", "new", "graph")
    initial = after.phrases.out.weight[1].clone()
    load_initial_heads(after, tmp_path / "model")
    assert torch.equal(after.phrases.out.weight[[0, 2]], before.phrases.out.weight[[2, 0]])
    assert torch.equal(after.phrases.out.weight[1], initial)
    assert torch.equal(after.spans.first.weight, before.spans.first.weight)
    # Weights that do not fit keep their initial values.
    wider = heads("graph", hidden=5)
    load_initial_heads(wider, tmp_path / "model")
    assert torch.equal(wider.spans.hidden.weight, before.spans.hidden.weight)
