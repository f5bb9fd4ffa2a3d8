"""Recognise a first line that names the columns of sentence pairs, such as "english,spanish" or "source,target"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.errors import ConfigurationError
from dragoman.text.language_codes import is_known_code, language_code

# What corpora call their sides
SIDES = {
    "source": "source",
    "src": "source",
    "original": "source",
    "target": "target",
    "tgt": "target",
    "trg": "target",
    "reference": "target",
    "ref": "target",
    "translation": "target",
}
# ... and words that do not say which side it is: "english sentence", "English (US)"
FILLERS = {
    *("sentence", "sentences", "text", "texts", "phrase", "segment", "seg", "string", "lang", "language", "side"),
    *("us", "usa", "gb", "american", "british", "brazilian", "european", "simplified", "traditional"),
}

# Names of languages in English, in the language itself, in Spanish, French, German, Portuguese and Italian.
NAMES = """
ar arabic العربية árabe arabe arabisch arabo; bg bulgarian български búlgaro bulgare bulgarisch bulgaro;
bn bengali বাংলা bengalí; ca catalan català catalán katalanisch catalão catalano; cs czech čeština checo tchèque
tschechisch tcheco ceco; da danish dansk danés danois dänisch dinamarquês danese; de german deutsch alemán allemand
alemão tedesco; el greek ελληνικά griego grec griechisch grego greco; en english inglés anglais englisch inglês inglese;
eo esperanto; es spanish español castellano espagnol spanisch espanhol spagnolo; et estonian eesti estonio estonien
estnisch; eu basque euskara vasco euskera baskisch basco; fa persian farsi فارسی persa persan persisch persiano;
fi finnish suomi finés finlandés finnois finnisch finlandês finlandese; fr french français francés französisch francês
francese; ga irish gaeilge irlandés; gl galician galego gallego galicien galicisch; he hebrew עברית hebreo hébreu
hebräisch hebraico ebraico; hi hindi हिन्दी हिंदी; hr croatian hrvatski croata croate kroatisch; hu hungarian magyar
húngaro hongrois ungarisch ungherese; id indonesian indonesia indonesio indonésien indonesisch indonésio indonesiano;
is icelandic íslenska islandés islandais isländisch; it italian italiano italien italienisch; ja japanese 日本語 japonés
japonais japanisch japonês giapponese; ko korean 한국어 coreano coréen koreanisch; lt lithuanian lietuvių lituano;
lv latvian latviešu letón; mk macedonian македонски macedonio; ms malay melayu malayo; nl dutch nederlands neerlandés
holandés néerlandais niederländisch holandês olandese; no norwegian norsk noruego norvégien norwegisch norueguês
norvegese; pl polish polski polaco polonais polnisch polonês polacco; pt portuguese português portugués portugais
portugiesisch portoghese; ro romanian română rumano roumain rumänisch romeno rumeno; ru russian русский ruso russe
russisch russo; sk slovak slovenčina eslovaco slovaque slowakisch; sl slovenian slovenščina esloveno slovène slowenisch;
sr serbian српски srpski serbio serbe serbisch; sv swedish svenska sueco suédois schwedisch svedese; sw swahili suajili
kiswahili; ta tamil தமிழ்; th thai ไทย tailandés thaï thailändisch; tr turkish türkçe turco turc türkisch; uk ukrainian
українська ucraniano ukrainien ukrainisch ucraino; ur urdu اردو; vi vietnamese vietnamita vietnamien vietnamesisch;
zh chinese 中文 chino chinois chinesisch chinês cinese mandarin
"""
BY_NAME = {name: entry.split()[0] for entry in NAMES.split(";") for name in entry.split()[1:]}
LONGEST = 40  # characters of a name
_words = re.compile(r"[^\W_]+")


def named_sides(row: Sequence[str], columns: Sequence[int] | None = None) -> list[int] | None:
    """The columns of source and target that a first row names; None if it is a pair itself, or names something else.

    "english, español" names them; "English, inglés" is a pair, for both say the same. If the columns are chosen, only
    those count; otherwise the ones called source and target do, else the first two, else the only two languages.
    """
    sides = [side_of(cell) for cell in row]
    if columns is not None:
        first, second = (sides[column] if column < len(sides) else "" for column in columns)
        return list(columns) if "" not in (first, second) and first != second else None
    if sides.count("source") == sides.count("target") == 1:
        return [sides.index("source"), sides.index("target")]
    if len(row) > 2:
        sides = ["" if cell.strip().lower() == "id" else side for cell, side in zip(row, sides, strict=True)]
    named = [column for column, side in enumerate(sides) if side]
    several = len(named) == 2 or named[:2] == [0, 1]
    return named[:2] if several and sides[named[0]] != sides[named[1]] else None


def side_of(cell: str) -> str:
    """What a name of a column stands for: source, target, or the code of a language; "" if it is not such a name.

    Of "source_en" it is the language.
    """
    text = cell.strip()
    if len(text) > LONGEST or text[-1:] in (".", "!", "?"):
        return ""
    words = [text] if _code(text) else [word for word in _words.findall(text.lower()) if word not in FILLERS]
    found = {
        (_code(word) if len(words) > 1 or word == text else "") or BY_NAME.get(word, "") or SIDES.get(word, "")
        for word in words
    }
    sides = found - set(SIDES.values()) or found
    return sides.pop() if len(sides) == 1 else ""


def _code(text: str) -> str:
    """The language of en, ES, pt_BR and zh-Hans; "" of words that are no usual codes, or begin with a capital."""
    if not (text.islower() or text.isupper() or "-" in text or "_" in text):
        return ""
    try:
        code = language_code(text)
    except ConfigurationError:
        return ""
    language = code.partition("-")[0]
    return language if language in BY_NAME.values() or (language != code and is_known_code(code)) else ""
