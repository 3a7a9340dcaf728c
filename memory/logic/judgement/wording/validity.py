"""Read from when and until when a fact holds, where its words say it plainly: "I lived in Rome from 2001 to 2005".

The period that is named belongs to it: until 2005 is until the end of that year. A month without a year is the next one
after "from" and "until", the last one after "since", and the nearest where a language has one word for both.
"""

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class Validity:
    """A fact holds from ``valid_from`` until before ``valid_until``, and without them always."""

    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        return self.valid_until is not None and self.valid_until <= now


ALWAYS: Final = Validity()

# The months in a line for each language, some by the stem that all cases have.
_MONTH_NAMES: Final = r"""
    january february march april may june july august september october november december
    jan feb mar apr may jun jul aug sept? oct nov dec
    januar februar märz april mai juni juli august september oktober november dezember
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
    janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
    januari februari maart april mei juni juli augustus september oktober november december
    styczni[au] lut(?:ego|y) mar(?:ca|zec) kwietnia maja? czerwca lipca sierpnia września października listopada grudnia
    январ[ьяе] феврал[ьяе] марта? апрел[ьяе] ма[йя] июн[ьяе] июл[ьяе] августа? сентябр[ьяе] октябр[ьяе] ноябр[ьяе] декабр[ьяе]
    ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
    يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
    มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม
"""
_BY_MONTH: Final = tuple(
    re.compile("|".join(names), re.IGNORECASE)
    for names in zip(*map(str.split, _MONTH_NAMES.strip().splitlines()), strict=True)
)
_MONTH: Final = "|".join(sorted({*_MONTH_NAMES.split()}, key=len, reverse=True))
_YEAR: Final = r"(?:19|20)\d\d"
_LINK: Final = r"(?:\s*,|\s+(?:de|del|di|of|van)\b)?\s+"
_DATE: Final = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d)(?!\d)"
    rf"|(?<!\d)(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º|°|\.)?{_LINK})?(?<![^\W\d_\u0e00-\u0e7f])(?P<month>{_MONTH})(?![^\W\d_\u0e00-\u0e7f])"
    rf"(?:\s+(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:{_LINK}(?P<year>{_YEAR})(?!\d))?"
    rf"|(?<!\d)(?:(?P<year_before>{_YEAR})[年년]\s*)?(?P<month_number>\d{{1,2}})[月월](?:\s*(?P<day_last>\d{{1,2}})[日号號일])?"
    rf"|(?<!\d)(?P<year_alone>{_YEAR})(?!\d)(?:\s*[年년])?",
    re.IGNORECASE,
)

_ARTICLE: Final = r"(?:(?:the|dem|den|de|del|du|el|le|il|o|l'|1er|year|jahr|año|anno|ano|roku|года?|ปี|عام|سنة)\s*)*$"
# Before a date. Since is in the past, and what may be either is the nearest.
_FROM: Final = re.compile(
    rf"(?:\b(?:from|starting|as of|beginning|between|ab|von|à partir|dès|vanaf|con inicio)|ابتداء من)\s+{_ARTICLE}",
    re.IGNORECASE,
)
_SINCE: Final = re.compile(rf"(?:\b(?:since|seit|depuis|sinds)|منذ)\s+{_ARTICLE}", re.IGNORECASE)
_EITHER: Final = re.compile(
    rf"(?:\b(?:desde|a partir|dal?|dall'|od|с|начиная с|van|entre)|(?<!\w)من)\s+{_ARTICLE}|\bde\s+{_ARTICLE}|ตั้งแต่\s*{_ARTICLE}|[从從自]\s*$",
    re.IGNORECASE,
)
_UNTIL: Final = re.compile(
    rf"(?:\b(?:until|till|til|through|bis|hasta|jusqu'(?:à|en|au)|fino (?:al?|a)|até|tot|aż do|до)|حتى)\s+{_ARTICLE}|(?:จน)?ถึง\s*{_ARTICLE}|[到至]\s*$",
    re.IGNORECASE,
)
# … between two dates only.
_TO: Final = re.compile(
    rf"(?:\b(?:to|through|till|hasta|até|jusqu'(?:à|en|au)|fino (?:al?|a)|and|until|bis|a|à|au|en|al|tot|do|по|до|y|e)|إلى|حتى|و)\s+{_ARTICLE}|(?:จน)?ถึง\s*{_ARTICLE}|[到至]\s*$|\s*[-–—~～]\s*$",
    re.IGNORECASE,
)
# After a date.
_FROM_AFTER: Final = re.compile(
    r"\s*(?:から|부터|以降|起|'?(?:den|dan|ten|tan)\s+(?:itibaren|bu ?yana|beri)|'?(?:den|dan|ten|tan)(?=\s+\S+\s*'?\w*\s+kadar))",
    re.IGNORECASE,
)
_SINCE_AFTER: Final = re.compile(
    r"\s*(?:以来|以來|이래|'?(?:den|dan|ten|tan)\s+beri)", re.IGNORECASE
)
_UNTIL_AFTER: Final = re.compile(
    r"\s*(?:まで|까지|为止|為止|'?(?:y?[eaiı]|ye|ya)?\s+kadar)", re.IGNORECASE
)
# What comes again and again, or isn't so until then, says nothing about when it holds.
_UNCLEAR: Final = re.compile(
    r"\b(?:every|each|always|usually|not|never|jede[nrms]?|immer|nicht|siempre|cada|todos|no|chaque|toujours|pas|ogni|sempre|non|todo|não|"
    r"elke?|altijd|niet|każd\w+|zawsze|nie|кажд\w+|всегда|не|her|değil|كل|دائما|لم|لا)\b|n't\b|ทุก|ไม่|每|没|沒|不|毎|ない|ません|매|않",
    re.IGNORECASE,
)
# Whatever comes after one of these may hold at another time.
_NEXT_CLAUSE: Final = re.compile(
    r"[,;，；、،؛](?=.*\w)|\b(?:and|but|und|aber|y|pero|et|mais|ma|però|mas|maar|ale|oraz|и|но|(?<!')ve|ama|لكن)\b|而且|但是?|そして|でも|그리고|하지만|และ|(?<!ตั้ง)แต่",
    re.IGNORECASE,
)
MAX_DATES: Final = 2

_Pick = Callable[[Sequence[datetime], datetime], datetime]


@dataclass(frozen=True, slots=True)
class _Period:
    """A named period: a year, a month or a day, of which the year may be missing."""

    year: int | None
    month: int | None
    day: int | None

    def find_start(self, now: datetime, pick: _Pick) -> datetime | None:
        years = [self.year] if self.year else [now.year - 1, now.year, now.year + 1]
        try:
            starts = [datetime(y, self.month or 1, self.day or 1, tzinfo=UTC) for y in years]
        except ValueError:  # the 30th of February
            return None
        return pick(starts, now)

    def find_end(self, start: datetime) -> datetime:
        """Return the last second of the period that begins then."""
        if self.day:
            days = 1
        elif self.month:
            days = calendar.monthrange(start.year, start.month)[1]
        else:
            days = 366 if calendar.isleap(start.year) else 365
        return start + timedelta(days=days, seconds=-1)


def _pick_next(starts: Sequence[datetime], now: datetime) -> datetime:
    return next((start for start in starts if start >= now), starts[-1])


def _pick_last(starts: Sequence[datetime], now: datetime) -> datetime:
    return next((start for start in reversed(starts) if start <= now), starts[0])


def _pick_nearest(starts: Sequence[datetime], now: datetime) -> datetime:
    return min(starts, key=lambda start: abs(start - now))


# What stands beside a date that something holds from, and which year it means.
_BEGINNINGS: Final[tuple[tuple[re.Pattern[str], re.Pattern[str] | None, _Pick], ...]] = (
    (_SINCE, _SINCE_AFTER, _pick_last),
    (_FROM, None, _pick_next),
    (_EITHER, _FROM_AFTER, _pick_nearest),
)


def parse_moment(text: str | None) -> datetime | None:
    """Return the moment of an ISO date or time. Without a zone it is in UTC. Raises ValueError for anything else."""
    moment = datetime.fromisoformat(text) if text else None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def read_validity(text: str, now: datetime) -> Validity:
    """Return when the text says that it holds. Text with several clauses says it of one of them, so it says nothing."""
    dates = [*_DATE.finditer(text)]
    if not dates or len(dates) > MAX_DATES or _UNCLEAR.search(text):
        return ALWAYS
    first, last = dates[0], dates[-1]
    if _NEXT_CLAUSE.search(text[: first.start()] + text[last.end() :].lstrip(" ,，、،")):
        return ALWAYS
    pick = _find_beginning(text, first)
    between = text[first.end() : last.start()] if first is not last else ""
    if first is not last and not (_TO.search(between) or _UNTIL_AFTER.match(text, last.end())):
        return ALWAYS
    if first is not last and (pick or re.fullmatch(r"\s*[-–—]\s*", between)):
        return _read_range(first, last, now, pick or _pick_nearest)
    if first is last and pick:
        return Validity(valid_from=_read_period(first).find_start(now, pick))
    if first is last and _stands_beside(text, first, _UNTIL, _UNTIL_AFTER):
        return _read_end(_read_period(first), None, now)
    return ALWAYS


def _find_beginning(text: str, match: re.Match[str]) -> _Pick | None:
    """Return which year is meant if the text says that something holds from the date."""
    for before, after, pick in _BEGINNINGS:
        if _stands_beside(text, match, before, after):
            return pick
    return None


def _stands_beside(
    text: str, match: re.Match[str], before: re.Pattern[str], after: re.Pattern[str] | None
) -> bool:
    is_before = before.search(text[: match.start()]) is not None
    return is_before or bool(after and after.match(text, match.end()))


def _read_range(first: re.Match[str], last: re.Match[str], now: datetime, pick: _Pick) -> Validity:
    beginning, end = _read_period(first), _read_period(last)
    if beginning.year is None and end.year:
        beginning = _Period(end.year, beginning.month, beginning.day)
    start = beginning.find_start(now, pick)
    return _read_end(end, start, now) if start else ALWAYS


def _read_end(period: _Period, valid_from: datetime | None, now: datetime) -> Validity:
    start = period.find_start(valid_from or now.replace(day=1, hour=0, minute=0), _pick_next)
    if start is None:
        return ALWAYS
    end = period.find_end(start)
    if valid_from and end <= valid_from:
        return ALWAYS
    return Validity(valid_from, end)


def _read_period(match: re.Match[str]) -> _Period:
    parts = match.groupdict()
    if parts["iso"]:
        return _Period(*map(int, parts["iso"].split("-")))
    year = parts["year"] or parts["year_before"] or parts["year_alone"]
    day = parts["day"] or parts["day_after"] or parts["day_last"]
    month = int(parts["month_number"] or 0) or _find_month(parts["month"] or "")
    return _Period(int(year) if year else None, month, int(day) if day else None)


def _find_month(name: str) -> int | None:
    return next((n for n, names in enumerate(_BY_MONTH, 1) if names.fullmatch(name)), None)
