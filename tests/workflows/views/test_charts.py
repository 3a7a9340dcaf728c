"""Bar charts: the highest bar is as high as the chart, and every value is in the text alternative."""

from django.template.loader import render_to_string

from workflows.views.charts import HEIGHT, Point, build_bar_chart


POINTS = [Point("1 May", 0), Point("2 May", 10, bad=5), Point("3 May", None), Point("4 May", 0.001)]


def test_heights_are_shares_of_the_highest_value():
    chart = build_bar_chart("Runs", POINTS, "{:g}".format)

    heights = [bar.height for bar in chart.bars]
    assert heights == [1.0, HEIGHT, 1.0, 2.0]
    assert chart.bars[1].bad_height == HEIGHT / 2
    assert [bar.is_empty for bar in chart.bars] == [True, False, True, False]


def test_description_has_every_value():
    chart = build_bar_chart("Runs", POINTS, "{:g}".format)

    assert chart.description == "Runs. 1 May: 0; 2 May: 10; 3 May: –; 4 May: 0.001"
    html = render_to_string("components/_bar_chart.html", {"chart": chart})
    assert 'role="img"' in html
    assert html.count("<title>") == 4


def test_chart_without_points_is_empty():
    assert build_bar_chart("Runs", [], str).bars == ()
