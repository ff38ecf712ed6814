"""The special tokens: their ids are the same in every vocabulary, in the authors' order."""

PAD, UNK, BOS, EOS, SEP, PEOS, NULL = range(7)
MARKS = (SEP, PEOS, EOS)  # what ends a phrase of a sequence
SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>", "<sep>", "<peos>", "<null>")

# What a present and an absent phrase of ExHiRD begin with (`batch.nested`): its rows have no other
# use for these two, and so its vocabulary is everyone's.
PRESENT_START, ABSENT_START = PEOS, NULL

# What stands in a source for a phrase that was taken out of it (`keyphrase_dropout`). No row of
# targets holds it, so that nobody learns to copy it.
MASK = BOS
