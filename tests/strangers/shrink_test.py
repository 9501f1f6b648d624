"""Shrinking, and reading what a run was, without a run."""
import sys
import unittest

import runs
import shrink


class Shrinking(unittest.TestCase):
    def test_the_steps_that_make_it_fail_are_left(self):
        for needed in ({"7"}, {"0", "99"}, {"3", "50", "51"}, set(map(str, range(20, 60, 4)))):
            tries = []

            def fails(lines, needed=needed, tries=tries):
                tries.append(lines)
                return lines[0] == "plan" and needed <= set(lines[1:])

            left = shrink.shrunk(["plan", *map(str, range(100))], fails)
            self.assertEqual(left[0], "plan")
            self.assertEqual(set(left[1:]), needed)
            self.assertLess(len(tries), 400)

    def test_one_step_stays(self):
        self.assertEqual(shrink.shrunk(["plan", "1"], lambda lines: True), ["plan", "1"])

    def test_a_shape_is_read_back(self):
        shape = runs.Shape(2, 3, "pmix", ("SCELA_COLL_CHECK=1", "SCELA_COLL_BCAST=chain segment 8K"))
        again = runs.Shape.parse(str(shape))
        self.assertEqual((again.ranks, again.launch, again.environment), (6, "pmix", shape.environment))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
