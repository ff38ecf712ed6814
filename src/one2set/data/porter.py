"""The Porter stemmer (1980), in the variant of NLTK, which keyphrase evaluation uses.

The steps are numbered as in M. F. Porter, *An algorithm for suffix stripping*. The default mode of
NLTK's stemmer differs from the paper where a comment below says `nltk`; tests compare the two. NLTK
itself is not used, because it takes over a second to import.
"""

_VOWELS = frozenset("aeiou")
# nltk: exceptions; the words of `_UNCHANGED` are their own stems.
_UNCHANGED = "sky news inning outing canning howe proceed exceed succeed"
_IRREGULAR = {
    **{word: word for word in _UNCHANGED.split()},
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
}
_PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",  # nltk: not only after a
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",  # nltk
    "logi": "log",  # nltk
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_GONE = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_STEP_4 = frozenset(_GONE.split())
_LENGTHS = range(7, 0, -1)  # of suffixes; the longest that matches is used


def porter_stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:  # nltk
        return word
    word = _without_plural(word)
    word = _without_participle(word)
    # Step 1c. nltk: cry → cri and by → by, where the paper requires a vowel in the stem.
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c":
        word = f"{word[:-1]}i"
    return _without_final_e(_step_4(_step_3(_step_2(word))))


def _shape(word: str) -> str:
    """`c` for each consonant and `v` for each vowel; y is a vowel after a consonant."""
    shape, before = [], "v"
    for letter in word:
        if letter == "y":
            before = "v" if before == "c" else "c"
        else:
            before = "v" if letter in _VOWELS else "c"
        shape.append(before)
    return "".join(shape)


def _measure(stem: str) -> int:
    """m of [C](VC)^m[V], where C and V are runs of consonants and of vowels."""
    return _shape(stem).count("vc")


def _ends_cvc(stem: str) -> bool:
    """*o: as in hop, but not in snow, box or tray."""
    shape = _shape(stem)
    if shape == "vc":  # nltk
        return True
    return shape.endswith("cvc") and stem[-1] not in "wxy"


def _suffix(word: str, suffixes: dict[str, str] | frozenset[str]) -> str:
    """The longest of `suffixes` that the word ends with, or ""."""
    for length in _LENGTHS:
        if word[-length:] in suffixes and length <= len(word):
            return word[-length:]
    return ""


def _without_plural(word: str) -> str:
    """Step 1a."""
    if len(word) == 4 and word.endswith("ies"):  # nltk: dies → die
        return word[:-1]
    suffix = _suffix(word, _PLURALS)
    return word[: -len(suffix)] + _PLURALS[suffix] if suffix else word


def _without_participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):  # nltk: died → die, tried → tri
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and "v" in _shape(stem):
            break
    else:
        return word
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if stem[-2:-1] == stem[-1] and _shape(stem)[-1] == "c":  # *d
        return stem if stem[-1] in "lsz" else stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):  # nltk: the result may end so again
        return _step_2(word[:-2])
    suffix = _suffix(word, _STEP_2)
    # nltk: the l of logi belongs to the stem, so that geologi → geolog as archaeologi.
    stem = word[: len(word) - len(suffix) + (suffix == "logi")]
    if not suffix or not _measure(stem):
        return word
    return word[: -len(suffix)] + _STEP_2[suffix]


def _step_3(word: str) -> str:
    suffix = _suffix(word, _STEP_3)
    stem = word.removesuffix(suffix)
    return stem + _STEP_3[suffix] if suffix and _measure(stem) else word


def _step_4(word: str) -> str:
    suffix = _suffix(word, _STEP_4)
    stem = word.removesuffix(suffix)
    if not suffix or _measure(stem) < 2 or (suffix == "ion" and stem[-1] not in "st"):
        return word
    return stem


def _without_final_e(word: str) -> str:
    """Step 5: remove a final e, and one l of a final ll, if the stem is long enough."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
