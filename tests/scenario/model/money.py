"""Amounts as the contract prints and rounds them (section 2). Shares nothing with the daemon."""
from decimal import ROUND_HALF_UP, Decimal

D = Decimal


def printed(amount, digits=2):
    """At least so many fractional digits, no further trailing zeros."""
    whole, _, fraction = format(abs(amount), ".6f").partition(".")
    fraction = fraction.rstrip("0").ljust(digits, "0")
    return ("-" if amount < 0 else "") + whole + ("." + fraction if fraction else "")


def half_away(amount, digits):
    return amount.quantize(D(1).scaleb(-digits), rounding=ROUND_HALF_UP)
