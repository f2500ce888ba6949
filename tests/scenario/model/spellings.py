"""Random amounts and times, each in one of the spellings that mean the same."""
from datetime import datetime, timedelta

from checks import UTC, Raw, spell
from model.money import D

OFFSETS = (0, 0, 60, -60, 330, -570, 840, -720, 1439, -1439)


def random_amount(r, most):
    """An exact decimal and one of its spellings."""
    value = r.choice((D(0), D(r.randint(1, 9999)) / 100, D(r.randint(0, 10 ** 6)) / 10 ** 6,
                      D(r.randint(0, most * 10 ** 6)) / 10 ** 6, D(1) / 10 ** 6))
    plain = format(value, ".6f")
    spelling = r.choice((plain, plain.rstrip("0").rstrip(".") or "0", format(value * 10 ** 6, ".0f") + "e-6",
                         format(value / 100, ".8f") + "E+2"))
    return value, (spelling if r.random() < 0.5 else Raw(spelling))


def negated(text):
    return type(text)("-" + text)


def random_moment(r, day):
    """Of that UTC day, or within seconds of the border to it."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    if r.random() < 0.4:
        return start + timedelta(milliseconds=r.choice((-1, 0, 1, r.randint(-3000, 3000))))
    return start + timedelta(milliseconds=r.randrange(86400000))


def random_time_text(r, at):
    text = spell(at, r.choice(OFFSETS))
    if r.random() < 0.2:  # finer than is kept: cut, never rounded up
        text = text[:23] + "9999" + text[23:]
    return text
