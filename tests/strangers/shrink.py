"""Delta debugging: the fewest steps of a plan by which it still fails."""


def shrunk(lines, fails):
    """The first line stays. `fails(lines)`: whether a plan of these lines fails."""
    head, steps = lines[:1], lines[1:]
    pieces = 2
    while steps:
        size = -(-len(steps) // pieces)
        for begin in range(0, len(steps), size):
            rest = steps[:begin] + steps[begin + size:]
            if rest and fails(head + rest):
                steps, pieces = rest, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                break
            pieces = min(2 * pieces, len(steps))
    return head + steps
