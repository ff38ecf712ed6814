"""The special tokens: their ids are the same in every vocabulary, in the authors' order."""

PAD, UNK, BOS, EOS, SEP, PEOS, NULL = range(7)
MARKS = (SEP, PEOS, EOS)  # each ends a phrase of a sequence
SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>", "<sep>", "<peos>", "<null>")

# The first tokens of ExHiRD's present and absent phrases (`batch.nested`). Its rows have no other
# use for these two ids, so it shares the vocabulary of the other systems.
PRESENT_START, ABSENT_START = PEOS, NULL
