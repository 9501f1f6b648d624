"""A host that is dead before the ranks start is replaced by a spare one, or done without."""
import case


class SparesTest(case.ClusterTest):
    SIZE = 7

    def launch(self, *options, status=0):
        ended = self.cluster.run("head", [self.scela_run(), "--degree", "2", *options, "hostname"], timeout=case.DEADLINE_S)
        self.assertEqual(ended.returncode, status, ended.stderr)
        return sorted(ended.stdout.split()), ended.stderr

    def test_spares_are_not_used_without_need(self):
        ran, _ = self.launch("-w", "node[001-007]", "--spares", "2", "--ppn", "1")
        self.assertEqual(ran, self.cluster.hosts[:5])

    def test_a_spare_replaces_a_dead_leaf(self):
        self.cluster.refuse("node003")
        ran, _ = self.launch("-w", "node[001-007]", "--spares", "2", "--ppn", "1")
        self.assertEqual(ran, ["node001", "node002", "node004", "node005", "node006"])

    def test_spares_replace_an_inner_node_and_a_name_that_does_not_exist(self):
        self.cluster.refuse("node001")
        ran, _ = self.launch("-w", "node001,ghost,node[002-007]", "--spares", "3", "--ppn", "1")
        self.assertEqual(ran, ["node002", "node003", "node004", "node005", "node006"])

    def test_too_few_spares_start_nothing(self):
        for host in ("node002", "node004"):
            self.cluster.refuse(host)
        ran, said = self.launch("-w", "node[001-004]", "--spares", "1", "--ppn", "1", status=68)
        self.assertEqual(ran, [])
        self.assertRegex(said, "node00[24]: .*Connection refused")

    def test_min_nodes_go_on_without_a_dead_inner_node(self):
        self.cluster.refuse("node001")
        ran, _ = self.launch("-w", "node[001-007]", "--min-nodes", "6", "--ppn", "1")
        self.assertEqual(ran, self.cluster.hosts[1:])


if __name__ == "__main__":
    case.main()
