"""PMI-1.2 as a client of its own speaks it: barriers of groups, several at once, and names of the job."""
import signal

import job
from job import JobTest

# What every rank's program begins with. ask() waits for the answer of one request; released() for those of barriers,
# which come in any order.
CLIENT = """
import os, signal, socket
rank = int(os.environ["PMI_RANK"])
lines = socket.socket(fileno=int(os.environ["PMI_FD"])).makefile("rw", newline="\\n")
def say(text):
    lines.write(text + "\\n")
    lines.flush()
def answer():
    return dict(word.split("=", 1) for word in lines.readline().split())
def ask(text):
    say(text)
    return answer()
def enter(group):
    say("cmd=barrier_in group=" + group)
def released(*tags):
    answers = [answer() for _ in tags]
    assert {int(one["tag"]) for one in answers} == set(tags), answers
    return {one["rc"] for one in answers}
def barrier(group):
    enter(group)
    assert released(int(group.split(":")[1])) == {"0"}
version = ask("cmd=init pmi_version=1 pmi_subversion=1")
assert version["rc"] == "0" and version["pmi_subversion"] == "2", version
space = ask("cmd=get_my_kvsname")["kvsname"]
def put(key, value):
    assert ask(f"cmd=put kvsname={space} key={key} value={value}")["rc"] == "0"
def get(key):
    return ask(f"cmd=get kvsname={space} key={key}").get("value")
def lookup(service):
    return ask("cmd=lookup_name service=" + service)
def finalize():
    assert ask("cmd=finalize")["rc"] == "0"
"""

# Ranks 0 and 3 wait in the barrier of all, which 1 and 2 enter last, and meanwhile in one of their own and in another
# one of all.
SEVERAL_AT_ONCE = CLIENT + """
if rank in (0, 3):
    enter("WORLD:5")
    enter("0,3:7" if rank == 0 else "3,0:7")
    assert released(7) == {"0"}
    enter("2,3,0,1:9")
    assert released(9, 5) == {"0"}
else:
    barrier("0,1,2,3:9")
    barrier("WORLD:5")
barrier("NODE:5")
assert ask("cmd=barrier_in")["rc"] == "0"
finalize()
print("done")
"""

# A barrier of a group makes the pairs of its members visible to them.
PAIRS = CLIENT + """
if rank == 0:
    put("of-a-group", "here")
if rank in (0, 3):
    barrier("0,3:1")
    assert get("of-a-group") == "here"
if rank in (1, 3):
    put(f"of-a-node-{rank}", "there")
barrier("NODE:2")
assert get("of-a-node-1" if rank < 2 else "of-a-node-3") == "there"
barrier("WORLD:3")
assert [get(key) for key in ("of-a-group", "of-a-node-1", "of-a-node-3", "of-nobody")] == ["here"] + 2 * ["there"] + [None]
finalize()
print("done")
"""

# Rank 1 dies while the others wait for it: who does is told, who does not is not disturbed.
DEATH = CLIENT + """
if rank == 1:
    barrier("WORLD:0")
    os.kill(os.getpid(), signal.SIGKILL)
barrier("WORLD:0")
if rank != 3:
    enter("0,1,2:4")
    assert released(4) == {"1"}
    assert get("PMI_dead_processes") == "1"
barrier("0,2,3:6")
finalize()
print("done")
"""

NAMES = CLIENT + """
if rank == 0:
    assert lookup("service")["rc"] == "1"
    assert ask("cmd=publish_name service=service port=tag#0$here")["rc"] == "0"
barrier("WORLD:1")
assert lookup("service") == {"cmd": "lookup_result", "rc": "0", "port": "tag#0$here"}
if rank == 2:
    assert ask("cmd=publish_name service=service port=mine")["rc"] == "1"
barrier("WORLD:2")
if rank == 3:
    assert ask("cmd=unpublish_name service=service")["rc"] == "0"
    assert ask("cmd=unpublish_name service=service")["rc"] == "1"
barrier("WORLD:3")
assert lookup("service")["rc"] == "1"
finalize()
print("done")
"""


class PmiGroupsTest(JobTest):
    def run_ranks(self, program, *options):
        return self.run_job("--sim-nodes", 2, "--degree", 1, "--ppn", 2, *options, job.PYTHON, "-c", program)

    def assert_done(self, program):
        ended = self.run_ranks(program)
        self.assertEqual((ended.status, ended.err, ended.lines), (0, "", 4 * ["done"]))

    def test_a_rank_waits_in_several_barriers_at_once(self):
        self.assert_done(SEVERAL_AT_ONCE)

    def test_a_barrier_of_a_group_shows_its_members_pairs(self):
        self.assert_done(PAIRS)

    def test_names_are_published_looked_up_and_unpublished(self):
        self.assert_done(NAMES)

    def test_a_rank_that_waits_for_a_dead_rank_is_told_and_others_are_not_disturbed(self):
        ended = self.run_ranks(DEATH, "--on-failure", "wait")
        self.assertEqual(ended.lines, 3 * ["done"], ended.err)
        self.assert_ended(ended, 128 + signal.SIGKILL, r"rank 1 on sim0 \(\S+\) killed by signal 9 .*")

    def test_a_malformed_group_ends_the_job_with_that_rank_named(self):
        ended = self.run_ranks(CLIENT + 'enter("0-3:1" if rank == 2 else "WORLD:1")\nanswer()\n')
        self.assert_ended(ended, 1, r"rank 2 on sim1 \(\S+\) broke the PMI protocol: PMI-1: the rank sent a barrier "
                                    r'without a group: "cmd=barrier_in group=0-3:1"')


if __name__ == "__main__":
    job.main()
