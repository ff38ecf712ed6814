"""Nearest neighbours: the training documents that are most similar to a text vote for keyphrases.

Similarity is the cosine of the phrase classifier's vectors. The index stores groups of at least
four similar documents: the mean vector of each group, and the keyphrases of its documents that are
on the phrase list. A model therefore does not contain the keyphrases of any single document. Each
document is in three groups; together they are nearly as good as single documents.

The index is an inverted file with product quantisation (Jégou et al., 2011): the groups lie in
cells around centroids, only the nearest cells are searched, and the residual of a vector, its
difference from the centroid, is stored as one byte per subvector.

Shapes: N documents, G groups, W width of a vector, C cells, M subvectors, K values of a subvector,
E keyphrases of all groups end to end, P phrases of the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints
from one2set.extraction.arrays import (
    Arrays,
    check_shapes,
    find_highest,
    load_arrays,
    save_arrays,
    single_thread_matmul,
)

FILE = "neighbors.safetensors"
_NUM_GROUPINGS = 3
_MIN_GROUP = 4  # documents in a group, if there are as many
_NUM_NEIGHBORS, _TEMPERATURE = 105, 0.07  # a vote is weighted by exp(cosine / temperature)
_NUM_PROBES = 32  # cells that are searched
_NUM_CELLS = 1024  # at most
_DOCUMENTS_PER_CELL = 64  # at least, on average
_SUBVECTOR, _NUM_VALUES = 4, 256
_ITERATIONS, _SAMPLE = 12, 50_000  # of k-means
Bytes = NDArray[np.uint8]
Indices = NDArray[np.unsignedinteger]  # in as few bytes as they need


@dataclass(frozen=True, slots=True)
class NeighborIndex:
    """Groups of documents, sorted by cell: their vectors and their keyphrases."""

    centroids: Float32s  # (C, W)
    codebook: Float32s  # (M, K, W / M)
    codes: Bytes  # (G, M) indices into the codebook
    cells: Ints  # (C + 1,) groups of cell c are numbers cells[c] up to cells[c + 1]
    sizes: Indices  # (G,) numbers of documents
    phrases: Indices  # (E,) indices into the phrase list, as often as documents have them
    phrases_of: Ints  # (G + 1,) those of group g are phrases_of[g] up to phrases_of[g + 1]
    absent: Float32s  # (P,) log of the share of a phrase's documents in which it is absent

    def vote(self, vector: Float32s) -> Float32s:
        """(P,) the weighted share of a text's neighbours that have each phrase, for its vector
        (W,)."""
        if not len(self.codes):
            return np.zeros(len(self.absent), np.float32)
        vector = _normalize(vector)
        by_cell = single_thread_matmul(self.centroids, vector)  # (C,)
        probed = np.sort(find_highest(by_cell, _NUM_PROBES))
        parts = [slice(*self.cells[cell : cell + 2].tolist()) for cell in probed.tolist()]
        counts = [part.stop - part.start for part in parts]
        groups = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        # q · (centroid + Σ subvectors), where the products with all subvectors are a table.
        table = np.matmul(self.codebook, vector.reshape(len(self.codebook), -1, 1))[..., 0]
        codes = np.concatenate([self.codes[part] for part in parts])  # (n, M)
        offsets = np.arange(0, table.size, table.shape[1])
        similarity = table.ravel()[codes + offsets].sum(axis=1) + np.repeat(by_cell[probed], counts)
        nearest = find_highest(similarity, _NUM_NEIGHBORS)
        weights = np.exp((similarity[nearest] - similarity[nearest].max()) / _TEMPERATURE)
        groups = groups[nearest]
        weights /= (weights * self.sizes[groups]).sum()
        begin, end = self.phrases_of[groups], self.phrases_of[groups + 1]
        phrases = [self.phrases[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
        each = np.repeat(weights, end - begin)
        votes = np.bincount(np.concatenate(phrases), each, minlength=len(self.absent))
        return votes.astype(np.float32)

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        arrays = {name: np.asarray(getattr(self, name)) for name in self.__slots__}
        counts = np.diff(self.phrases_of)  # they take less space than their sums
        arrays["phrases_of"] = counts.astype(np.min_scalar_type(counts.max(initial=0)))
        save_arrays(folder / FILE, arrays)

    @classmethod
    def load(cls, folder: Path) -> "NeighborIndex | None":
        """Load it from a model's folder; None if it has none."""

        def build(arrays: Arrays) -> "NeighborIndex":
            shapes = {"centroids": "CW", "codebook": "MKV", "codes": "GM", "cells": "S"}
            lists = {"sizes": "G", "phrases": "E", "phrases_of": "G", "absent": "P"}
            check_shapes(arrays, {**shapes, **lists})
            index = cls(**{name: arrays[name] for name in cls.__slots__})
            index = replace(index, phrases_of=np.cumsum(np.append(0, index.phrases_of)))
            index._check()
            return index

        return load_arrays(folder, FILE, "an index of neighbours", build)

    def _check(self) -> None:
        """Raise ValueError if an index would point outside an array."""
        subvectors, values, length = self.codebook.shape
        if subvectors * length != self.centroids.shape[1] or values != _NUM_VALUES:
            raise ValueError("the codebook does not fit the centroids")
        for bounds, count, end in (
            (self.cells, len(self.centroids), len(self.codes)),
            (self.phrases_of, len(self.codes), len(self.phrases)),
        ):
            if len(bounds) != count + 1 or bounds[0] != 0 or bounds[-1] != end:
                raise ValueError("cells and groups do not fit")
            if np.any(np.diff(bounds) < 0):
                raise ValueError("bounds are not in order")
        if len(self.phrases) and not (
            self.phrases.min() >= 0 and self.phrases.max() < len(self.absent)
        ):
            raise ValueError("there are indices of no phrase")
        if np.any(self.sizes < 1):
            raise ValueError("there are groups of no documents")


def build_neighbor_index(
    vectors: Float32s, phrases: Sequence[Sequence[int]], absent: Float32s
) -> NeighborIndex:
    """Index documents by their vectors (N, W). `phrases` are the keyphrases of each document as
    indices into the phrase list; documents without any are left out."""
    useful = np.array([number for number, own in enumerate(phrases) if own], np.int64)
    documents = _normalize(vectors[useful])
    random = np.random.default_rng(0)
    groups: list[Ints] = []
    for _ in range(_NUM_GROUPINGS):
        centroids = _fit_cells(documents, random)
        cell = _nearest(documents, centroids)
        for number in range(len(centroids)):
            groups += _split(documents, np.flatnonzero(cell == number))
    means = [documents[group].mean(axis=0) for group in groups]
    vectors = _normalize(np.array(means, np.float32).reshape(-1, vectors.shape[1]))  # (G, W)
    cell = _nearest(vectors, centroids)
    order = np.argsort(cell, kind="stable")
    vectors, cell = vectors[order], cell[order]
    codes, codebook = [], []
    for residual in np.split(vectors - centroids[cell], vectors.shape[1] // _SUBVECTOR, axis=1):
        # residual (G, W / M), a table of the codebook (K, W / M)
        codebook.append(_fit_centroids(_sample(residual, random), _NUM_VALUES, random))
        codes.append(_nearest(residual, codebook[-1]).astype(np.uint8))
    own = [
        [phrase for number in useful[groups[group]].tolist() for phrase in phrases[number]]
        for group in order.tolist()
    ]
    return NeighborIndex(
        centroids,
        np.stack(codebook),
        np.stack(codes, axis=1),
        np.searchsorted(cell, np.arange(len(centroids) + 1)),
        np.array([len(groups[group]) for group in order], np.uint8),
        np.array([phrase for each in own for phrase in each], np.min_scalar_type(len(absent))),
        np.cumsum([0, *map(len, own)]),
        absent,
    )


def _fit_cells(documents: Float32s, random: np.random.Generator) -> Float32s:
    """(C, W) the centroids of cells that have enough documents for a group."""
    count = max(1, min(_NUM_CELLS, len(documents) // _DOCUMENTS_PER_CELL))
    centroids = _fit_centroids(_sample(documents, random), count, random)
    sizes = np.bincount(_nearest(documents, centroids), minlength=count)
    large: Float32s = centroids[sizes >= min(_MIN_GROUP, sizes.max())]
    return large


def _split(vectors: Float32s, group: Ints) -> list[Ints]:
    """Halve a group of rows of vectors until halves would be too small, each time across the
    direction of greatest variance."""
    if len(group) < 2 * _MIN_GROUP:
        return [group] if len(group) else []
    centred = vectors[group] - vectors[group].mean(axis=0)
    direction = centred[np.argmax((centred**2).sum(axis=1))]
    for _ in range(3):  # power iteration
        direction = _normalize(centred.T @ (centred @ direction))
    order, half = np.argsort(centred @ direction), len(group) // 2
    return _split(vectors, group[order[:half]]) + _split(vectors, group[order[half:]])


def _sample(vectors: Float32s, random: np.random.Generator) -> Float32s:
    return vectors[np.sort(random.permutation(len(vectors))[:_SAMPLE])]


def _normalize(vectors: Float32s) -> Float32s:
    """(…, W) of length 1; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-9)))


def _nearest(vectors: Float32s, centroids: Float32s) -> Ints:
    """(N,) the centroid that is nearest to each vector (N, W)."""
    half_squares = (centroids**2).sum(axis=1) / 2
    parts = np.split(vectors, range(10_000, len(vectors), 10_000))
    return np.concatenate([np.argmax(part @ centroids.T - half_squares, axis=1) for part in parts])


def _fit_centroids(vectors: Float32s, count: int, random: np.random.Generator) -> Float32s:
    """(count, W) by k-means; the vectors themselves and zeros, where there are no more. A centroid
    that loses all its vectors stays where it is."""
    if len(vectors) <= count:
        return np.pad(vectors, ((0, count - len(vectors)), (0, 0)))
    centroids = vectors[random.permutation(len(vectors))[:count]]
    for _ in range(_ITERATIONS):
        nearest = _nearest(vectors, centroids)
        sizes = np.bincount(nearest, minlength=count)[:, None]
        sums = np.stack([np.bincount(nearest, column, count) for column in vectors.T], axis=1)
        centroids = np.where(sizes > 0, sums / np.maximum(sizes, 1), centroids).astype(np.float32)
    return centroids
