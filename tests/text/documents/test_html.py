"""HTML: the text is translated, the markup stays; whatever comes, nothing is lost and nothing becomes markup."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.text.documents import split_html
from dragoman.text.documents.tokens import Kind, tokens
from tests.text.documents.timing import assert_linear


def listed(text: str) -> list[str]:
    """What stands between white space, an underscore for a space."""
    return [piece.replace("_", " ") for piece in text.split()]


PIECES = listed("""<b> </b> <i_class="x>y"> </i> <A_HREF=u> </a> <span_title='"'> </span> <p> </p> <br> <br/> <ul>
<li> </ul> <td> <img_alt="a">
<code> </code> <pre> </pre> <kbd> </kbd> <svg> </svg> <script> </script> <!-- --> <!--x <!--_c_-->
<!DOCTYPE_html> <?php <![CDATA[ ]]> </1> </> < <3 <b <a_href=" > & &amp; &lt; &nbsp; &copy &#65; &#x1F600; &#0; &nope;
&lt;1&gt; <1> </1> <2/> <textarea> </textarea> <title> </title> <template> </template> <span_translate="no">
<div_class="notranslate"> <b_translate=yes> <wbr> </b_x="y"> <style> </style> <plaintext> <math> <table> <tr> <button>
= " word Word. word! 5 你好。 é \u00a0 \ue000 . ,""")
HTML = (
    st.lists(st.sampled_from([*PIECES, " ", " ", "\n", "\r\n  "]), max_size=30)
    .map("".join)
    .filter(lambda html: len(html) < 1000)
)
WRITTEN = st.lists(
    st.sampled_from(
        ["<1>", "</1>", "<2>", "</2>", "<3/>", "<1/>", "uno", " ", "dos.", "<script>", "&", '"', "&lt;", "<!--", "<"]
    ),
    max_size=12,
).map("".join)


def marked(html: str) -> str:
    """The document with square brackets around its segments, and inline tags as they are."""
    document = split_html(html)
    return document.join([f"[{segment}]" for segment in document.segments])


@given(html=HTML | st.text(max_size=40))
@example('<a title="</a>">x</a> <b>y')
@example("&#" + "9" * 5000 + ";x")
@example("x&#x" + "0" * 5000 + "41;")
def test_an_identical_translation_gives_the_document_back(html: str) -> None:
    document = split_html(html)
    assert document.join(document.segments) == html


@given(html=HTML | st.text(max_size=40))
def test_tokens_are_the_document(html: str) -> None:
    assert "".join(token.raw for token in tokens(html)) == html


def markup_of(html: str) -> Counter[str]:
    return Counter(token.raw for token in tokens(html) if token.kind is not Kind.TEXT)


@given(html=HTML, data=st.data())
def test_whatever_is_written_the_markup_is_the_same(html: str, data: st.DataObject) -> None:
    document = split_html(html)
    written = document.join([data.draw(WRITTEN) for _ in document.segments])
    assert markup_of(written) == markup_of(html)


NESTED = st.recursive(
    st.sampled_from(["uno ", "dos, ", "tres. Quatro ", "5", "&amp;", "<!-- c -->"]),
    lambda inner: st.tuples(st.sampled_from("abiu"), st.lists(inner, max_size=4)).map(
        lambda pair: f'<{pair[0]} id="x">{"".join(pair[1])}</{pair[0]}>'
    ),
    max_leaves=12,
)


def tree(html: str) -> list[str]:
    """The path to each element, in any order; fails where tags are not nested."""
    found, path = [], [""]
    for token in tokens(html):
        if token.kind is Kind.OPEN:
            path.append(f"{path[-1]}/{token.name}")
            found.append(path[-1])
        elif token.kind is Kind.CLOSE:
            assert path.pop().endswith(f"/{token.name}")
    return sorted(found)


@given(html=NESTED, data=st.data())
def test_nested_tags_are_nested_in_the_same_way(html: str, data: st.DataObject) -> None:
    document = split_html(html)
    assert tree(document.join([data.draw(WRITTEN) for _ in document.segments])) == tree(html)


@given(html=HTML)
def test_segments_have_letters_and_no_space_around_them(html: str) -> None:
    for segment in split_html(html).segments:
        assert segment == segment.strip()
        assert any(map(str.isalpha, segment))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Hi. How <b>are</b> you?</p>", "<p>[Hi.] [How <b>are</b> you?]</p>"),
        ("<p>One\n  line</p>\n\n<p>two</p>", "<p>[One line]</p>\n\n<p>[two]</p>"),
        ("<b>Hi. You.</b> Me.", "<b>[Hi.] [You.]</b> [Me.]"),
        ("Me. <b>Hi. You.</b> Us.", "[Me.] <b>[Hi.] [You.]</b> [Us.]"),
        ("<p><b><i>Hi</i></b></p>", "<p><b><i>[Hi]</i></b></p>"),
        ("So <b>it is. It</b> was. Yes.", "[So <b>it is. It</b> was.] [Yes.]"),
        ("So <i>it is.</i> It was.", "[So <i>it is.</i>] [It was.]"),
        ("So <i>it is. </i>It was.", "[So <i>it is. </i>][It was.]"),
        ("Hi<br>you<br/>all", "[Hi]<br>[you]<br/>[all]"),
        ("so <b>it<br>was</b> here", "[so <b>it]<br>[was</b> here]"),
        ("<ul><li>One<li>two<ul><li>three</ul></ul>", "<ul><li>[One]<li>[two]<ul><li>[three]</ul></ul>"),
        ("<table><tr><td>a</td><td>5</td>", "<table><tr><td>[a]</td><td>5</td>"),
        ("Run <code>ls <b>x</b></code> now", "[Run <code>ls <b>x</b></code> now]"),
        ("<img src=x> See <img src=y>", "<img src=x> [See] <img src=y>"),
        ("a<pre>b</pre>c<script>d</script>e", "[a]<pre>b</pre>[c]<script>d</script>[e]"),
        ("<script><!-- <script>a</script> b --></script>c", "<script><!-- <script>a</script> b --></script>[c]"),
        ("<textarea>a</textarea><svg><text>b</text></svg>", "<textarea>a</textarea><svg><text>b</text></svg>"),
        ("<p translate=no>a<p>b", "<p translate=no>a<p>[b]"),
        ("<div><p translate=no>a<p>b</div>", "<div><p translate=no>a<p>[b]</div>"),
        ("<table><tr translate=no><td>a<tr><td>b</table>", "<table><tr translate=no><td>a<tr><td>[b]</table>"),
        ('<div class="x notranslate">a <p translate="yes">b</p> c</div>',
         '<div class="x notranslate">a <p translate="yes">[b]</p> c</div>'),
        ('See <span translate="NO">The Boss</span> now', '[See <span translate="NO">The Boss</span> now]'),
        ('<a title="a > b" href=\'"\'>x</a>', '<a title="a > b" href=\'"\'>[x]</a>'),
        ("<title>a <b> c</title>", "<title>[a &lt;b&gt; c]</title>"),
        ("3 < 4 and I <3 you > x", "[3 &lt; 4 and I &lt;3 you &gt; x]"),
        ("x <b", "[x] <b"),
        ("<i a=>x</i>", "<i a=>[x]</i>"),
        ('x <i a="y>z', '[x] <i a="y>z'),
        ("x </", "[x &lt;/]"),
        ("<!-->x<br><!--->y<br><!-- -- q --!>z", "<!-->[x]<br><!--->[y]<br><!-- -- q --!>[z]"),
        ("x <!-- y", "[x] <!-- y"),
        ("<B>x</B> <I>y</I> z", "[<B>x</B> <I>y</I> z]"),
        ("caf&eacute;&nbsp;&copy; &amp; &lt;b&gt;", "[caf&eacute;&nbsp;&copy; &amp; &lt;b&gt;]"),
        ("AT&T &#39;x&#39;", "[AT&amp;T &#39;x&#39;]"),
        ("&nbsp;x&nbsp;", "&nbsp;[x]&nbsp;"),
        ("你好。再见！<b>是</b>。", "[你好。][再见！][<b>是</b>。]"),
    ],
)  # fmt: skip
def test_cut_where_a_reader_would(html: str, expected: str) -> None:
    assert marked(html) == expected


@pytest.mark.parametrize(
    ("html", "segments"),
    [
        ('A <b class="x">big <i>house</i></b>!', ["A <1>big <2>house</2></1>!"]),
        ("A <b><i>big</i></b> house", ["A <1>big</1> house"]),
        ("Run <code>ls</code>&nbsp;now", ["Run <1/>\u00a0now"]),
        ("See <a href=u><i>https://</i><i>example.com/a</i></a> ok", ["See <1/> ok"]),
        ("one <a>@<b>you</b></a> two", ["one <1/> two"]),
        ("one <a>of <b>you</b></a> two", ["one <1>of <2>you</2></1> two"]),
        ("an &#00000000000000000065; or &#x00000000000000000041", ["an A or A"]),
        ("Is &lt;1&gt; <b>so</b> big", ["Is <1> <2>so</2> big"]),
        ("Say <!-- c -->hi <a name=x></a>now", ["Say hi now"]),
        ("so <b>it<br>was</b> here", ["so <1>it</1>", "<1>was</1> here"]),
        ("x <b>y</i> z", ["<2>x <1>y</1></2> z"]),
        ("x</i> y</b> z", ["<2><1>x</1> y</2> z"]),
        ("x <b>y <i>z</b> x</i> y", ["<3>x <1>y <2>z</2></1> x</3> y"]),
    ],
)
def test_what_the_translator_reads(html: str, segments: list[str]) -> None:
    assert list(split_html(html).segments) == segments


@pytest.mark.parametrize(
    ("html", "written", "expected"),
    [
        ("A <b>big <i>house</i></b>!", "¡Una <1><2>casa</2> grande</1>!", "¡Una <b><i>casa</i> grande</b>!"),
        ("Is <b>so</b> & <i>big</i>", "<2>Grande</2> & <1>así</1>", "<i>Grande</i> &amp; <b>así</b>"),
        ("A <b>big</b> house", "Una casa grande", "Una <b>casa</b> grande"),
        ("A <b>big</b> house", "<1>Una</1> casa <1>grande</1>", "<b>Una</b> casa grande"),
        ("A <b>big</b> house", "Una </1>casa<1> grande", "Una <b>casa</b> grande"),
        ("A <b>big</b> house", "", "<b></b>"),
        ("abcd <b>e</b> fghi", "uno dos", "uno <b>dos</b>"),
        ("Say <!-- c -->hi now", "Di hola ya", "Di <!-- c -->hola ya"),
        ("Hi", "<script>alert(1)</script><1>", "&lt;script&gt;alert(1)&lt;/script&gt;&lt;1&gt;"),
        ("Fish &#38; caf&eacute;", "Café & &amp;", "Caf&eacute; &amp; &amp;amp;"),
    ],
)
def test_tags_are_put_back_and_the_rest_is_text(html: str, written: str, expected: str) -> None:
    assert split_html(html).join([written]) == expected


@given(written=st.text(max_size=30) | WRITTEN)
def test_no_translation_becomes_markup(written: str) -> None:
    inside = split_html("<p>Hello</p>").join([written])[3:-4]
    assert not re.search("[<>]", inside)
    assert inside.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == written.strip()


def test_a_sentence_with_more_tags_than_can_be_placed_is_cut() -> None:
    html = "one <b>two</b> " * 9
    document = split_html(html)
    assert 2 <= len(document.segments) <= 6
    assert document.join([segment.upper() for segment in document.segments]) == "ONE <b>TWO</b> " * 9


@pytest.mark.parametrize(
    "piece",
    listed(
        '<b> </b> & < <b>x x</b> <!-- <![CDATA[ &nbsp; <script> <p> <i></i> x<!----> Hi._ a。 <a_ <a_=" =" '
        "<ul><li>a <b></i> <div_translate=no> x<i><b>1</i></b>_ <a>#x</a> &lt;1&gt; <b>.</b>_A </title <svg> <td>"
    ),
)
def test_the_time_is_linear(piece: str) -> None:
    def translated(html: str) -> None:
        document = split_html(html)
        document.join([segment + "x" for segment in document.segments])

    assert_linear(translated, piece)


def test_deep_nesting_is_no_problem() -> None:
    html = "<b>" * 5_000 + "x" + "</b>" * 5_000
    assert split_html(html).join(["y"]) == html.replace("x", "y")
    assert marked("<div><i>" * 5_000 + "x").endswith("[x]")
