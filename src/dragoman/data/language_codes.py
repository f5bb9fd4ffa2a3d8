"""Codes of languages, such as en, pt-BR and zh-Hans (BCP 47)."""

from __future__ import annotations

import re

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


def language_codes(found: tuple[str, str] | None) -> Languages | None:
    """Two languages that a file names, as codes; None if they are not codes, or the same one."""
    if found is None:
        return None
    try:
        source, target = (language_code(text) for text in found)
    except ConfigurationError:
        return None
    return None if source == target else (source, target)


def languages_of_extensions(first: str, second: str) -> Languages | None:
    """The languages of train.en and train.es; None for extensions such as .txt."""
    found = language_codes((first, second))
    return found if found and all(f" {code.partition('-')[0]} " in _TWO_LETTERS for code in found) else None
