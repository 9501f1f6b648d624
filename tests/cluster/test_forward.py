"""Keys that only the head has, in an ssh-agent: with --forward-agent the tree grows as ever, without it the head
starts every agent itself."""
import re

import case

# An ssh-agent of its own, the key files out of reach; then the words that follow.
WITH_AGENT = """eval $(ssh-agent) > /dev/null; trap 'kill $SSH_AGENT_PID' EXIT; ssh-add -q ~/.ssh/id_ed25519
mkdir ~/away; mv ~/.ssh/id_ed25519* ~/away; "$@"; status=$?; mv ~/away/* ~/.ssh; rmdir ~/away; exit $status"""


class ForwardTest(case.ClusterTest):
    SIZE = 6
    OPTIONS = {"kex": "curve25519-sha256", "node_keys": False}

    def launch(self, *options):
        """Host of every agent, to the address that its login came from."""
        before = {host: len(self.logins(host)) for host in self.cluster.hosts}
        ended = self.cluster.run("head", ["bash", "-c", WITH_AGENT, "bash", self.scela_run(), *options, "--degree", "2",
                                          "-w", "node[001-006]", "--degree", "2", "--ppn", "1", "hostname"], timeout=case.DEADLINE_S)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(sorted(ended.stdout.split()), self.cluster.hosts)
        found = {}
        for host in self.cluster.hosts:
            fresh = self.logins(host)[before[host]:]
            self.assertEqual(len(fresh), 1, (host, fresh))
            found[host] = fresh[0]
        return found

    def logins(self, host):
        return re.findall(r"Accepted publickey for root from (\S+)", self.cluster.log(host))

    def test_a_forwarded_agent_lets_the_tree_grow(self):
        came_from = self.launch("--forward-agent")
        # Degree 2: the head starts 001 and 004, each of them two more.
        parents = {"node001": "head", "node004": "head", "node002": "node001", "node003": "node001",
                   "node005": "node004", "node006": "node004"}
        self.assertEqual(came_from, {host: self.cluster.address(parent) for host, parent in parents.items()})

    def test_without_forwarding_the_head_starts_every_agent_and_asks_no_host_twice(self):
        came_from = self.launch()
        self.assertEqual(set(came_from.values()), {self.cluster.address("head")})


if __name__ == "__main__":
    case.main()
