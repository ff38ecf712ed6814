"""A model made as the one inside the package is: word pieces, and first layers that stay as they
are. It is prepared for, trained, exported, and trained further."""

from importlib.resources import as_file, files
from pathlib import Path

from tests.cli.test_train import QUICK, train
from tests.commands import invoke
from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer

from one2set.data.reading.readers import read
from one2set.export.export import export_model
from one2set.model.folder import load_model
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import NullBias
from one2set.prediction.runtime import Runtime


def test_from_pieces_to_a_model_that_is_trained_further(tmp_path: Path) -> None:
    with as_file(files("one2set.data").joinpath("sample", "documents.jsonl")) as path:
        documents = list(read(path))
        tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
        tokenizer.decoder = WordPieceDecoder()
        trainer = WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False)
        tokenizer.train_from_iterator([document.text for document in documents], trainer)
        tokenizer.save(str(tmp_path / "pieces.json"))
        prepare = ["prepare", str(tmp_path / "corpus"), "--train", str(path), "--hold-out", "0.3"]
        options = ["--tokenizer", str(tmp_path / "pieces.json")]
        invoke(*prepare, *options)
        bert = ["model.encoder=bert", "train.frozen_layers=1", "train.encoder_lr_factor=0.3"]
        settings = [part for name in bert for part in ("--set", name)]
        train(tmp_path / "corpus", tmp_path / "run", "--steps", "3", *QUICK, *settings)
        model = tmp_path / "model"
        export_model(tmp_path / "run", model, int8=False)
        engine = Engine.load(tmp_path / "run" / "model")
        runtime = Runtime(model, threads=1)
        bias = NullBias(-20.0, -20.0)  # so that the barely trained codes generate phrases
        texts = [
            [
                [(slot.text, round(slot.probability, 4)) for slot in prediction.slots]
                for prediction in each.predict(documents[:20], null_bias=bias)
            ]
            for each in (engine, runtime)
        ]
        assert texts[0] == texts[1]
        prepare[1] = str(tmp_path / "more")
        invoke(*prepare, "--vocabulary", model)
    train(tmp_path / "more", tmp_path / "after", "--from", str(model), "--steps", "1")
    before, after = load_model(model), load_model(tmp_path / "after" / "model")
    assert after.network.arguments == before.network.arguments
    assert after.network.arguments["encoder"] == "bert"
