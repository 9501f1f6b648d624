"""PMI-2 as a client with several threads speaks it: requests overlap, and answers say whose they are."""
import job
from job import JobTest

# What every rank's program begins with. Requests carry a thrid; take() reads answers until that thread's has come.
CLIENT = """
import os, socket
rank = int(os.environ["PMI_RANK"])
agent = socket.socket(fileno=int(os.environ["PMI_FD"]))
stream = agent.makefile("rwb")
def say(command, thread, **words):
    payload = f"cmd={command};thrid={thread};" + "".join(f"{key}={value};" for key, value in words.items())
    stream.write(b"%-6d" % len(payload) + payload.encode())
    stream.flush()
answers = {}
def take(thread):
    while thread not in answers:
        words = stream.read(int(stream.read(6))).decode().rstrip(";").split(";")
        answer = dict(word.split("=", 1) for word in words)
        answers[int(answer["thrid"])] = answer
    answer = answers.pop(thread)
    assert answer["rc"] == "0", answer
    return answer
stream.write(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
stream.flush()
assert stream.readline() == b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\\n"
say("fullinit", 0)
assert take(0)["rank"] == str(rank)
def finalize():
    say("finalize", 0)
    take(0)
    print("done")
"""

# Each rank waits for its node's attribute in one thread and in a fence in another, and only then puts the one and lets
# the others into the other, with threads that do not wait.
OVERLAP = CLIENT + """
mine = f"of-rank-{rank}"
say("info-getnodeattr", 1, key=mine, wait="TRUE")
say("kvs-fence", 2)
say("kvs-put", 3, key=mine, value="a b")
take(3)
say("info-putnodeattr", 4, key=mine, value=rank)
take(4)
assert take(1)["value"] == str(rank)
take(2)
for thread in range(10, 40):
    say("kvs-get", thread, key=mine)
for thread in reversed(range(10, 40)):
    assert take(thread)["found"] == "TRUE"
finalize()
"""

# Rank 0 asks about names while it is in a fence that rank 1 enters only when it has found the name.
NAMES_IN_A_FENCE = CLIENT + """
if rank == 0:
    say("kvs-fence", 1)
    say("name-publish", 2, name="service", port="here")
    take(2)
    say("kvs-put", 3, key="k", value="v")
    take(3)
    take(1)
else:
    found = {"rc": "14"}
    while found["rc"] != "0":
        say("name-lookup", 2, name="service")
        payload = stream.read(int(stream.read(6))).decode()
        found = dict(word.split("=", 1) for word in payload.rstrip(";").split(";"))
    assert found["port"] == "here", found
    say("kvs-fence", 1)
    take(1)
finalize()
"""


class PmiTwoTest(JobTest):
    def assert_done(self, ranks, program):
        ended = self.run_job("--sim-nodes", 2, "--degree", 1, "--ppn", ranks // 2, job.PYTHON, "-c", program)
        self.assertEqual((ended.status, ended.err, ended.lines), (0, "", ranks * ["done"]))

    def test_requests_of_several_threads_overlap(self):
        self.assert_done(4, OVERLAP)

    def test_a_rank_in_a_fence_publishes_the_value_that_lets_others_enter_it(self):
        self.assert_done(2, NAMES_IN_A_FENCE)


if __name__ == "__main__":
    job.main()
