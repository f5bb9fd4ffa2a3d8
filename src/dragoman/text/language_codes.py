"""Codes of languages, such as en, pt-BR and zh-Hans (BCP 47)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dragoman.errors import ConfigurationError

Languages = tuple[str, str]

_CODE = re.compile(r"[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*")

# The languages of ISO 639-1, which extensions of files may name.
_TWO_LETTERS = (
    " aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it "
    "iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt "
    "my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl "
    "sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo "
    "za zh zu "
)

_SAME_LANGUAGE = {"cmn": "zh", "in": "id", "iw": "he", "ji": "yi", "nb": "no"}  # older and narrower codes in use
_SCRIPTS = {"zh": "hans", "zh-hk": "hant", "zh-mo": "hant", "zh-tw": "hant"}  # that a language or region implies


def language_code(text: str) -> str:
    """A code as BCP 47 writes it: EN as en, pt_br as pt-BR, zh-hans as zh-Hans; an error for what is not a code."""
    plain = text.strip().replace("_", "-").lower()
    if not _CODE.fullmatch(plain):
        raise ConfigurationError(f"'{text}' is not the code of a language; expected one such as en, pt-BR or zh-Hans")
    language, *rest = plain.split("-")
    return "-".join([language, *(_written(part) for part in rest)])


def _written(part: str) -> str:
    """A script begins with a capital, a region is all capitals, a variant is not."""
    if len(part) == 4 and part.isalpha():
        return part.title()
    return part.upper() if len(part) == 2 else part


class _Tag(NamedTuple):
    language: str
    script: str
    region: str
    variants: frozenset[str]

    @property
    def implied_script(self) -> str:
        """The script, or the one that the region implies; "" if neither is given."""
        implied = _SCRIPTS.get(f"{self.language}-{self.region}", _SCRIPTS.get(self.language, ""))
        return self.script or (implied if self.region else "")


def _parse(text: str) -> _Tag:
    """Read a tag as leniently as files write it: en_GB, ES-es; extensions such as -x-private are ignored."""
    language, *rest = text.strip().replace("_", "-").lower().split("-")
    script = region = ""
    variants = []
    for part in rest:
        if len(part) < 2:
            break
        if len(part) == 4 and part.isalpha():
            script = part
        elif len(part) == 2 or (len(part) == 3 and part.isdigit()):
            region = part
        else:
            variants.append(part)
    return _Tag(_SAME_LANGUAGE.get(language, language), script, region, frozenset(variants))


def languages_agree(first: str, second: str) -> bool:
    """Whether two tags may mean the same: en and en_US do, en-US and en-GB do not, neither do zh-Hans and zh-TW."""
    a, b = _parse(first), _parse(second)
    pairs = ((a.implied_script, b.implied_script), (a.region, b.region), (a.variants, b.variants))
    return a.language == b.language != "" and all(not x or not y or x == y for x, y in pairs)


def closest_languages(wanted: str, available: Iterable[str]) -> list[str]:
    """The tags closest to the one wanted, as they are written: none, one, or several that are equally close.

    The same tag comes first, then those that agree with it (`languages_agree`), then other regions of the language;
    never another script. To en, en-US and en-GB are equally close.
    """
    tag = _parse(wanted)
    script = tag.implied_script or _SCRIPTS.get(tag.language, "")
    ranks: dict[str, tuple[bool, ...]] = {}
    for text in available:
        other = _parse(text)
        contradicts = tag.implied_script and other.implied_script and tag.implied_script != other.implied_script
        if tag.language == other.language != "" and not contradicts:
            ranks[text] = (
                tag == other,
                languages_agree(wanted, text),
                tag.region == other.region != "",
                script == other.implied_script != "",
            )
    return [text for text, rank in ranks.items() if rank == max(ranks.values())]


def language_codes(found: tuple[str, str] | None) -> Languages | None:
    """Two languages that a file names, as codes; None if they are not codes, or the same one."""
    if found is None:
        return None
    try:
        source, target = (language_code(text) for text in found)
    except ConfigurationError:
        return None
    return None if source == target else (source, target)


def common_languages(found: Sequence[Languages | None]) -> Languages | None:
    """The languages that several files have in common: of en-US, es and en-GB, es those of en, es."""
    named = [codes for codes in found if codes is not None]
    if len(named) < len(found) or not named:
        return None
    sides = [list(dict.fromkeys(side)) for side in zip(*named, strict=True)]
    if not all(closest_languages(side[0], [code]) for side in sides for code in side):
        return None
    source, target = (side[0] if len(side) == 1 else side[0].partition("-")[0] for side in sides)
    return (source, target) if source != target else None


def languages_of_extensions(first: str, second: str) -> Languages | None:
    """The languages of train.en and train.es; None for extensions such as .txt."""
    found = language_codes((first, second))
    return found if found and all(is_known_code(code) for code in found) else None


def is_known_code(code: str) -> bool:
    """Whether a code begins with one of ISO 639-1, as en-US does."""
    return f" {code.partition('-')[0]} " in _TWO_LETTERS
