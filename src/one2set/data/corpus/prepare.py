"""Prepare a corpus: read, de-duplicate, split phrases, filter, count words, write shards.

The input is read once. Workers tokenise chunks of documents; the main process alone decides, in
input order, what is kept and which id each word gets, so the written bytes do not depend on the
number of workers. Shards first have provisional ids (by first occurrence) and are rewritten when
all words are counted. The folder gets its name when it is complete.
"""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from one2set.atomic import atomic_folder
from one2set.data.corpus.corpus import (
    FORMAT,
    MANIFEST,
    TRAIN,
    VALID,
    Manifest,
    Shard,
    SplitCounts,
    file_hash,
    remap_shard,
    write_shard,
)
from one2set.data.corpus.encoding import (
    EncodedDocument,
    describe_chunk,
    encode_documents,
    split_into_chunks,
    text_key,
)
from one2set.data.corpus.selection import DocumentSelection, Filters, SelectedDocuments
from one2set.data.document import Document
from one2set.data.example import Ids
from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields
from one2set.data.reading.streams import ErrorPolicy, count_bytes, is_pipe, printable
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import (
    PieceVocabulary,
    Vocabulary,
    WordVocabulary,
    ids_of_words,
    vocabulary_file,
)
from one2set.errors import ConfigError, DataError
from one2set.parallel import ordered_map

_SHARD, _SHARD_TOKENS = 16_384, 1 << 26  # documents; their tokens, if these are many
_SKIPPED = "skipped.jsonl"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input files of a corpus. Each test set is a split of its own name.

    `oversample` maps training files to the number of times that an epoch draws their documents,
    1 or more.
    """

    train: Sequence[str]
    valid: Sequence[str] = ()
    tests: dict[str, str] = field(default_factory=dict)
    exclude: Sequence[str] = ()
    oversample: dict[str, int] = field(default_factory=dict)

    def splits(self) -> dict[str, Sequence[str]]:
        """The files of each split. Training is first, so that its words are first in the
        dictionary."""
        tests = {name: [path] for name, path in self.tests.items()}
        splits = {TRAIN: self.train, VALID: self.valid, **tests}
        return {name: paths for name, paths in splits.items() if paths}

    def bytes(self) -> int:
        """The size of all files, for the progress bar."""
        return count_bytes(chain(self.exclude, *self.splits().values()))


def prepare(
    output: Path,
    inputs: Inputs,
    *,
    filters: Filters = Filters(),  # noqa: B008  (frozen)
    tokenizer: Path | None = None,
    model_vocabulary: WordVocabulary | None = None,
    fields: Fields = Fields(),  # noqa: B008  (frozen)
    errors: ErrorPolicy | None = None,
    workers: int = 1,
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda bytes_read, documents: None,
) -> Manifest:
    """Write a corpus folder. `progress` is called with the bytes and documents read so far.

    With `tokenizer`, ids are word pieces instead of words; with `model_vocabulary`, the words of
    a model keep their ids.
    """
    errors = errors or ErrorPolicy()
    _check_output(output, overwrite=overwrite)
    _check(inputs, filters)
    pieces = None if tokenizer is None else PieceVocabulary.from_file(tokenizer)
    own_files = _own_files if overwrite else None
    with (
        atomic_folder(output, own_files=own_files) as folder,
        errors,
        _report_to(folder / _SKIPPED, errors),
    ):
        selection = DocumentSelection(filters, _excluded_titles(inputs, fields, errors))
        splits = inputs.splits()
        names = [*splits, *([VALID] if filters.hold_out else [])]
        writers = {name: _Writer(folder / name) for name in names}
        dictionary = Dictionary(model_vocabulary)
        documents = 0
        for name, repeat, paths in _groups(splits, inputs.oversample):
            writers[name].begin(repeat)
            read_one = read if name == TRAIN else _read_labelled
            read_all = (read_one(path, fields=fields, errors=errors) for path in paths)
            chunks = split_into_chunks(chain.from_iterable(read_all))
            encode = partial(encode_documents, tokenizer=tokenizer)
            for chunk in ordered_map(encode, chunks, workers=workers, describe=describe_chunk):
                for target, selected in selection.choose(chunk, name).items():
                    if pieces is None:
                        counted = target == TRAIN
                        selected.tokens = dictionary.add(
                            selected.tokens, chunk.words, counted=counted
                        )
                    writers[target].add(selected)
                documents += len(chunk.rows)
                progress(errors.bytes_read, documents)
        vocabulary: Vocabulary
        if pieces is None:
            vocabulary, final_ids = dictionary.close(filters.vocabulary_size)
        else:
            vocabulary, final_ids = pieces, None
        manifest = Manifest(
            format=FORMAT,
            versions={
                "one2set": version("one2set"),
                "unicode": unicodedata.unidata_version,
            },
            inputs={
                name: tuple(printable(os.path.basename(path)) for path in paths)
                for name, paths in {**splits, "exclude": inputs.exclude}.items()
            },
            filters=filters.model_dump(),
            skipped=errors.skipped,
            vocabulary_size=vocabulary.size,
            vocabulary_sha256=file_hash(vocabulary.save(folder)),
            splits={
                name: writer.close(final_ids, selection.read[name], selection.dropped[name])
                for name, writer in writers.items()
            },
        )
        manifest.save(folder)
    return manifest


@contextmanager
def _report_to(path: Path, errors: ErrorPolicy) -> Iterator[None]:
    """List problems in a file, unless the caller has named another. Only within the block: the
    caller may use the policy again, when this folder has got its name."""
    named = errors.report_file
    errors.report_file = named or path
    try:
        yield
    finally:
        errors.report_file = named


def _read_labelled(path: str, *, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Read documents of which the keyphrases are known, to validate or test with."""
    for document in read(path, fields=fields, errors=errors):
        try:
            document.expect_keyphrases()
        except DataError as error:
            errors.report(error.what, fix=error.fix, path=path)
        else:
            yield document


def _groups(
    splits: Mapping[str, Sequence[str]], oversample: Mapping[str, int]
) -> Iterator[tuple[str, int, list[str]]]:
    """For each group of files: its split, how often an epoch draws its documents, and the files."""
    for name, paths in splits.items():
        repeats = [oversample.get(path, 1) if name == TRAIN else 1 for path in paths]
        for repeat, group in groupby(zip(repeats, paths, strict=True), key=itemgetter(0)):
            yield name, repeat, [path for _, path in group]


def _check_output(output: Path, *, overwrite: bool) -> None:
    empty = output.is_dir() and not any(output.iterdir())
    if output.exists() and not empty and not _own_files(output):
        raise ConfigError(f"{output} exists and is not a corpus; name another folder to write")
    if output.exists() and not overwrite:
        raise ConfigError(f"{output} exists already; pass --overwrite to replace it")


def _own_files(folder: Path) -> set[str]:
    """The files of a corpus; none if a folder is not a corpus."""
    try:
        splits = Manifest.load(folder).splits
    except DataError:
        return set()
    shards = {f"{name}/{shard.file}" for name, split in splits.items() for shard in split.shards}
    return {MANIFEST, _SKIPPED, vocabulary_file(folder).name, *shards}


def _check(inputs: Inputs, filters: Filters) -> None:
    if not inputs.train:
        raise ConfigError("no training data was named; pass --train FILE at least once")
    if filters.hold_out and inputs.valid:
        raise ConfigError(
            f"--hold-out is {filters.hold_out} and --valid is {inputs.valid[0]}; "
            "pass one or the other"
        )
    for name in inputs.tests:
        if name in (TRAIN, VALID, "exclude") or not re.fullmatch(r"[\w-]+", name):
            raise ConfigError(
                f"a test set is named {name!r}; expected letters, digits, - and _, "
                f"and not {TRAIN}, {VALID} or exclude; pass --test NAME=FILE"
            )
    for path in inputs.oversample:
        if path not in inputs.train:
            raise ConfigError(
                f"--oversample names {path}, which is no training file; pass --train {path} too"
            )
    others = [*inputs.valid, *inputs.tests.values(), *inputs.exclude]
    twice = [path for path in inputs.train if inputs.train.count(path) > 1]
    for path in filter(is_pipe, others + twice):
        raise ConfigError(
            f"{path} is standard input or a pipe, which can be read only once, as training data; "
            "pass a file for anything else"
        )


def _excluded_titles(inputs: Inputs, fields: Fields, errors: ErrorPolicy) -> frozenset[bytes]:
    """The titles that must not occur in training: those of excluded, validation and test sets."""
    # Errors are reported when the corpus's own sets are read.
    ignored = ErrorPolicy("skip", max_line=errors.max_line)
    keys: set[bytes] = set()
    for path in inputs.exclude:
        documents = read(path, fields=fields, errors=errors)
        keys.update(text_key(document.title_words()) for document in documents)
    for path in chain(inputs.valid, inputs.tests.values()):
        documents = read(path, fields=fields, errors=ignored)
        keys.update(text_key(document.title_words()) for document in documents)
    return frozenset(keys - {b""})


class _Writer:
    """Collects the documents of a split and writes them shard by shard."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: list[EncodedDocument] = []
        self._tokens: list[Ids] = []
        self._num_tokens = 0
        self._documents: list[int] = []
        self._repeats: list[int] = []  # of each shard
        self._repeat = 1
        self._totals: Counter[str] = Counter()
        folder.mkdir()

    def begin(self, repeat: int) -> None:
        """Start a shard. An epoch draws its documents `repeat` times."""
        self._flush()
        self._repeat = repeat

    def add(self, selected: SelectedDocuments) -> None:
        """Add documents with provisional or final ids."""
        self._rows += selected.rows
        self._tokens.append(selected.tokens)
        self._num_tokens += len(selected.tokens)
        if len(self._rows) >= _SHARD or self._num_tokens >= _SHARD_TOKENS:
            self._flush()

    def _path(self, shard: int) -> Path:
        return self._folder / f"{shard:05}.arrow"

    def _flush(self) -> None:
        if not self._rows:
            return
        rows, tokens = self._rows, np.concatenate(self._tokens)
        lengths = np.fromiter(
            chain.from_iterable((row.source_length, sum(row.phrase_lengths)) for row in rows),
            np.int64,
        )
        parts = np.split(tokens, np.cumsum(lengths)[:-1])
        write_shard(
            self._path(len(self._documents)),
            ids=[row.id for row in rows],
            title_lengths=[row.title_length for row in rows],
            source=np.concatenate(parts[::2]),
            source_lengths=[row.source_length for row in rows],
            num_present=[row.num_present for row in rows],
            phrase_counts=[len(row.phrase_lengths) for row in rows],
            words=np.concatenate(parts[1::2]),
            word_counts=list(chain.from_iterable(row.phrase_lengths for row in rows)),
        )
        present = sum(row.num_present for row in rows)
        self._totals["source_words"] += sum(row.source_length for row in rows)
        self._totals["present"] += present
        self._totals["absent"] += sum(len(row.phrase_lengths) for row in rows) - present
        self._documents.append(len(rows))
        self._repeats.append(self._repeat)
        self._rows, self._tokens, self._num_tokens = [], [], 0

    def close(self, final_ids: Ids | None, read: int, dropped: Counter[str]) -> SplitCounts:
        """Write the last shard, and rewrite all shards with final ids. Returns their
        descriptions."""
        self._flush()
        shards: list[Shard] = []
        for index, (documents, repeat) in enumerate(
            zip(self._documents, self._repeats, strict=True)
        ):
            path = self._path(index)
            if final_ids is not None:
                remap_shard(path, path.with_suffix(".new"), final_ids)
                path.with_suffix(".new").replace(path)
            size, digest = path.stat().st_size, file_hash(path)
            shards.append(
                Shard(file=path.name, documents=documents, bytes=size, sha256=digest, repeat=repeat)
            )
        return SplitCounts(
            read=read,
            documents=sum(self._documents),
            source_words=self._totals["source_words"],
            present=self._totals["present"],
            absent=self._totals["absent"],
            dropped={reason: count for reason, count in sorted(dropped.items()) if count},
            shards=tuple(shards),
        )


class Dictionary:
    """Counts words. New words get provisional ids; `close` orders them by frequency.

    With the vocabulary of a model, the words of its network keep their ids, so that the network
    can be trained further.
    """

    def __init__(self, model: WordVocabulary | None = None) -> None:
        self._given = model is not None
        words = SPECIALS if model is None else model.words[: model.size]
        self._first = len(words)  # number of final ids
        self._ids = ids_of_words(words)
        self._counts: NDArray[np.int64] = np.zeros(self._first, np.int64)

    def add(self, tokens: Ids, words: list[str], *, counted: bool) -> Ids:
        """The provisional ids of tokens, which are indices into `words`. New words get ids in
        order of appearance."""
        used, first = np.unique(tokens, return_index=True)
        provisional = np.zeros(len(words), np.int32)
        for local in used[np.argsort(first)].tolist():
            provisional[local] = self._ids.setdefault(words[local], len(self._ids))
        self._counts.resize(len(self._ids), refcheck=False)
        if counted:
            # Only the ids of special tokens, whose counts are not used, occur twice.
            self._counts[provisional] += np.bincount(tokens, minlength=len(words))
        return provisional[tokens]

    def close(self, size: int) -> tuple[WordVocabulary, Ids]:
        """The vocabulary by descending count (ties: by first occurrence), and the final ids.

        Words that occur only in validation or test sets have count 0. They come last and never
        belong to the networks' vocabulary.
        """
        self._counts[: len(SPECIALS)] = 0
        words = np.arange(self._first, len(self._counts))
        by_count = words[np.argsort(-self._counts[self._first :], kind="stable")]
        order = np.concatenate([np.arange(self._first), by_count])
        final = np.empty(len(order), np.int32)
        final[order] = np.arange(len(order), dtype=np.int32)
        spelled = list(self._ids)
        counts = self._counts[order]
        known = len(SPECIALS) + int(np.count_nonzero(counts))
        vocabulary = WordVocabulary(
            [spelled[id] for id in order.tolist()],
            size=self._first if self._given else min(size, known),
            counts=counts.tolist(),
        )
        return vocabulary, final
