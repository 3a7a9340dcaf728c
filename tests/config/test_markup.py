"""Two spellings of one page are one; what a reader would see differently, or a script read differently, isn't."""

from tests.support.cases import for_each
from tests.support.markup import tidy


@for_each(
    "written, tidied",
    [
        ('<input\n  name="a"\n  checked\n>', '<input name="a" checked>'),
        ("<td  class='num' >", "<td class='num'>"),
        ("<br\n/>", "<br />"),
        ("<dl>\n  <dt>\n    A\n  </dt> <dd>B</dd>\n</dl>\n", "<dl><dt>A</dt><dd>B</dd></dl>"),
        ("<li>a\n  <ul> <li>b</li> </ul> c </li>", "<li>a<ul><li>b</li></ul>c</li>"),
        ("<p>one\n   two</p>", "<p>one two</p>"),
        ("<DIV> a </DIV>", "<DIV>a</DIV>"),
        ("<i>\n <button> Go </button>\n</i>", "<i> <button>Go</button> </i>"),
        ("<label>\n a <input> </label>\n<b>", "<label>a <input></label> <b>"),
        ("\n<!DOCTYPE html>\n<html>\n  <body>\n a", "<!DOCTYPE html><html><body>a"),
    ],
)
def test_whitespace_that_is_not_shown_goes(written: str, tidied: str):
    assert tidy(written) == tidied
    assert tidy(tidied) == tidied


@for_each(
    "written",
    [
        '<p title="a\n  b" data-words="1  > 2" hidden>x</p>',
        "<b>a</b> <b>b</b>",
        "<p>a <b>b</b></p>",
        "<p>a<b>b</b></p>",
        "<p><b> a </b></p>",
        "<button>a</button> <button>b</button>",
        "<p>1\N{NO-BREAK SPACE} 2</p>",
        "<p>1 < 2 > 3</p>",
        '<pre class="code">\n  a  <b>b</b>\n</pre>',
        "<textarea>\n a  </textarea>",
        "<script>\n if (1 < 2)  go();\n</script>",
        "<preview> a </preview>",
    ],
)
def test_all_that_is_shown_or_read_stays(written: str):
    assert tidy(written) == written
