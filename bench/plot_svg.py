"""Line charts as SVG text: linear or logarithmic axes, a few series, a legend. Standard library only.

  line_chart("title", "x axis", "y axis", {"name": [(x, y), ...], ...}, log_x=True, log_y=True) -> str

  beside(chart, chart) -> str

Same input, same text. With a logarithmic axis all its values must be positive. Series keep their order.
"""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 16, 40, 52
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]  # told apart by everybody


class Axis:
    """Maps values to pixels, and knows where its ticks are."""

    def __init__(self, values, low_pixel, high_pixel, log):
        self.log = log
        self.low_pixel, self.high_pixel = low_pixel, high_pixel
        if log:
            if min(values) <= 0:
                raise ValueError("a logarithmic axis needs positive values")
            self.ticks = log_ticks(min(values), max(values))
        else:
            self.ticks = linear_ticks(min(0, *values), max(values))
        self.low, self.high = self.ticks[0], self.ticks[-1]

    def pixel(self, value):
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.low_pixel + part * (self.high_pixel - self.low_pixel)


def log_ticks(low, high):
    """Powers of two when the range is short, of ten when it is long; at least two."""
    base = 2 if high / low <= 600 else 10
    first = math.floor(math.log(low, base) + 1e-9)
    last = max(math.ceil(math.log(high, base) - 1e-9), first + 1)
    return [float(base) ** i for i in range(first, last + 1)]


def linear_ticks(low, high):
    """At most seven steps of 1, 2 or 5 times a power of ten."""
    span = (high - low) or 1
    step = 10.0 ** math.floor(math.log10(span / 6))
    step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= 6)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def number(value):
    if value >= 1e6 or 0 < value < 1e-3:
        return f"{value:g}"
    return f"{value:,.10g}"


def text(x, y, content, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(content)}</text>'


def line_chart(title, x_label, y_label, series, log_x=True, log_y=True):
    points = [point for values in series.values() for point in values]
    x_axis = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, log_x)
    y_axis = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP, log_y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text(WIDTH / 2, 20, title, extra=' font-size="14"')]
    for tick in x_axis.ticks:
        x = x_axis.pixel(tick)
        out.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
        out.append(text(x, HEIGHT - BOTTOM + 16, number(tick)))
    for tick in y_axis.ticks:
        y = y_axis.pixel(tick)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        out.append(text(LEFT - 6, y + 4, number(tick), "end"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label))
    out.append(text(18, middle, y_label, extra=f' transform="rotate(-90 18 {middle:.1f})"'))
    for index, (name, values) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        places = [(x_axis.pixel(x), y_axis.pixel(y)) for x, y in values]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(places) <= 40:
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = TOP + 16 + 18 * index
        out.append(f'<path d="M{LEFT + 12} {y - 4}h24" stroke="{colour}" stroke-width="2"/>')
        out.append(text(LEFT + 42, y, name, "start"))
    return "\n".join(out + ["</svg>", ""])


def beside(*charts):
    """The charts in one picture, from left to right."""
    inner = [chart.replace("<svg ", f'<svg x="{index * WIDTH}" ', 1) for index, chart in enumerate(charts)]
    width = WIDTH * len(charts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">\n' +
            "".join(inner) + "</svg>\n")
