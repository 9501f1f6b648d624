"""Ranks that ask for more ranks: PMI-1 mcmd=spawn and PMI-2 spawn, by clients that speak the wire themselves."""
import glob
import os
import subprocess

import job
from job import JobTest

# PMI-1, line by line. spawn(): programs are (ranks, argv, infos); preputs go with the first.
CLIENT = """
import os, socket, sys
if "PMI_FD" in os.environ:
    agent = socket.socket(fileno=int(os.environ["PMI_FD"]))
else:
    host, _, port = os.environ["PMI_PORT"].partition(":")
    agent = socket.create_connection((host, int(port)))
stream = agent.makefile("rwb", buffering=0)
def say(line):
    stream.write(line.encode() + b"\\n")
def hear():
    line = b""
    while not line.endswith(b"\\n"):
        line += stream.read(1)
    words, _, value = line.decode().rstrip("\\n").partition(" value=")
    return dict([word.partition("=")[::2] for word in words.split()] + [("value", value)])
def ask(line):
    say(line)
    return hear()
def put(key, value):
    assert ask(f"cmd=put kvsname={space} key={key} value={value}")["rc"] == "0"
def get(key):
    answer = ask(f"cmd=get kvsname={space} key={key}")
    return answer["value"] if answer["rc"] == "0" else None
def fence():
    assert ask("cmd=barrier_in")["rc"] == "0"
def spawn(programs, preputs):
    for i, (ranks, argv, infos) in enumerate(programs):
        lines = ["mcmd=spawn", f"nprocs={ranks}", f"execname={argv[0]}", f"totspawns={len(programs)}",
                 f"spawnssofar={i + 1}", f"argcnt={len(argv) - 1}"]
        lines += [f"arg{n + 1}={word}" for n, word in enumerate(argv[1:])]
        pairs = list(preputs.items()) if i == 0 else []
        lines += [f"preput_num={len(pairs)}"]
        for n, (key, value) in enumerate(pairs):
            lines += [f"preput_key_{n}={key}", f"preput_val_{n}={value}"]
        lines += [f"info_num={len(infos)}"]
        for n, (key, value) in enumerate(infos.items()):
            lines += [f"info_key_{n}={key}", f"info_val_{n}={value}"]
        for line in lines + ["endcmd"]:
            say(line)
    return hear()
if "PMI_FD" not in os.environ:
    assert ask(f"cmd=initack pmiid={os.environ['PMI_ID']}")["cmd"] == "initack"
    os.environ["PMI_SIZE"], os.environ["PMI_RANK"] = hear()["size"], hear()["rank"]
    hear()
assert ask("cmd=init pmi_version=1 pmi_subversion=1")["rc"] == "0"
space = ask("cmd=get_my_kvsname")["kvsname"]
appnum = int(ask("cmd=get_appnum")["appnum"])
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
spawned = os.environ.get("PMI_SPAWNED") == "1"
def show(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
def finalize():
    assert ask("cmd=finalize")["rc"] == "0"
"""

# Rank 0 spawns what its arguments say; the children exchange among themselves and publish what they have seen, and
# parents and children meet by the name service, as MPI's do.
PARENT_AND_CHILD = CLIENT + """
put(f"k{rank}", f"{'child' if spawned else 'parent'}{rank}")
fence()
for other in range(size):
    assert get(f"k{other}") == f"{'child' if spawned else 'parent'}{other}", get(f"k{other}")
assert get(f"k{size}") is None
if spawned:
    assert get("PARENT_ROOT_PORT_NAME") == "port of 0", get("PARENT_ROOT_PORT_NAME")
    show("child", rank, "of", size, "app", appnum, "node", os.environ["SCELA_NODE"], get("PMI_process_mapping"),
         *sys.argv[1:])
else:
    assert get("PARENT_ROOT_PORT_NAME") is None
    if rank == 0:
        me = [sys.executable, sys.argv[0]]
        answer = spawn([(3, me + ["two words"], {}), (1, me, {"unknown": "info"})],
                       {"PARENT_ROOT_PORT_NAME": "port of 0"})
        assert (answer["cmd"], answer["rc"], answer["errcodes"]) == ("spawn_result", "0", "0,0,0,0"), answer
    fence()
    show("parent", rank, "of", size)
finalize()
"""


# Rank 0 spawns a rank, that one another, and so on; the last one answers by the name service, which all share.
GENERATIONS = CLIENT + """
left = int(sys.argv[1])
if left > 0 and rank == 0:
    assert spawn([(2, [sys.executable, sys.argv[0], str(left - 1)], {})], {"left": left})["rc"] == "0"
    found = {"rc": "1"}
    while found["rc"] != "0":
        found = ask("cmd=lookup_name service=last")
    show(left, get("left"), found["port"])
elif left == 0 and rank == 1:
    assert ask("cmd=publish_name service=last port=here")["rc"] == "0"
finalize()
"""

# Rank 0 asks for what its arguments name, "ranks:word,word:info=value,info=value" each, and shows the answer.
SPAWN_WORDS = CLIENT + """
if rank == 0:
    programs = []
    for word in sys.argv[1:]:
        ranks, words, infos = word.split(":")
        programs.append((ranks, words.split(","), dict(info.split("=") for info in infos.split(",") if info)))
    answer = spawn(programs, {})
    show(answer["rc"], answer.get("errcodes", "none"), answer.get("msg", ""))
finalize()
"""

# PMI-2: the parent spawns two programs of two ranks each; they see the pair that was put for them.
CLIENT_2 = """
import os, sys
stream = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
def read(count):
    text = b""
    while len(text) < count:
        text += stream.read(count - len(text))
    return text.decode()
def ask(command, *words):
    payload = f"cmd={command};" + "".join(f"{key}={value};" for key, value in words)
    stream.write(b"%6d" % len(payload) + payload.encode())
    return dict(word.split("=", 1) for word in read(int(read(6))).rstrip(";").split(";"))
stream.write(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
assert read(53) == "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\\n"[:53] and read(4) == "c=0\\n"
me = ask("fullinit", ("pmirank", os.environ["PMI_RANK"]))
job = ask("job-getid")["jobid"]
def show(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""
PMI_TWO = CLIENT_2 + """
assert ask("kvs-put", ("key", "key"), ("value", job))["rc"] == "0"
assert ask("kvs-fence")["rc"] == "0"
assert ask("kvs-get", ("key", "key"))["value"] == job
if "spawner-jobid" in me:
    assert me["spawner-jobid"] == sys.argv[1] and job != sys.argv[1], me
    assert ask("kvs-get", ("key", "PARENT_ROOT_PORT_NAME"))["value"] == "a port"
    show("child", me["rank"], "of", me["size"], "app", me["appnum"], sys.argv[2])
elif me["rank"] == "0":
    words = [("ncmds", 2), ("preputcount", 1), ("ppkey0", "PARENT_ROOT_PORT_NAME"), ("ppval0", "a port")]
    for name in ("one", "two"):
        words += [("subcmd", sys.executable), ("maxprocs", 2), ("argc", 3), ("argv0", sys.argv[0]), ("argv1", job),
                  ("argv2", name), ("infokeycount", 1), ("infokey0", "unknown"), ("infoval0", "info")]
    answer = ask("spawn", *words)
    assert answer == {"cmd": "spawn-response", "rc": "0", "jobid": answer["jobid"], "errcodes": "0,0,0,0"}, answer
    answer = ask("spawn", ("ncmds", 1), ("preputcount", 0), ("subcmd", "no-such-program"), ("maxprocs", 1), ("argc", 0),
                 ("infokeycount", 0))
    assert answer["rc"] == "14" and answer["errcodes"] == "1" and "no-such-program" in answer["errmsg"], answer
    assert "jobid" not in answer
    assert ask("spawn", ("ncmds", 2), ("preputcount", 0), ("subcmd", "true"), ("maxprocs", 1), ("argc", 0),
               ("infokeycount", 0))["rc"] == "3"
assert ask("finalize")["rc"] == "0"
"""

# Rank 0 spawns again and again, an argument each, "ranks:host"; the workers exchange pairs and say where they are. The first
# rank waits for their end by the name service, so that each spawn finds what the ones before have left.
GROWS = CLIENT + """
me = [sys.executable, sys.argv[0]]
if not spawned:
    for n, word in enumerate(sys.argv[1:]):
        ranks, _, host = word.partition(":")
        answer = spawn([(ranks, me + [str(n)], {"host": host} if host else {})], {"early": f"pair {n}"})
        show("spawn", n, answer["rc"], answer.get("errcodes", "none"), answer.get("msg", ""))
        while answer["rc"] == "0" and ask(f"cmd=lookup_name service=done{n}")["rc"] != "0":
            pass
else:
    n = int(sys.argv[1])
    assert get("early") == f"pair {n}", get("early")
    put(f"k{rank}", f"of {rank}")
    fence()
    assert all(get(f"k{other}") == f"of {other}" for other in range(size))
    show("worker", n, os.environ["SCELA_NODE"], get("PMI_process_mapping"))
    fence()
    if rank == 0:
        assert ask(f"cmd=publish_name service=done{n} port=here")["rc"] == "0"
finalize()
"""

# Spawns as many workers as there is room for.
MANAGER = CLIENT + """
room = int(ask("cmd=get_universe_size")["size"])
show(room, get("universeSize"))
assert spawn([(room - 1, ["sh", "-c", "echo $SCELA_NODE"], {})], {})["rc"] == "0"
finalize()
"""
UNIVERSE = CLIENT + """
show(ask("cmd=get_universe_size")["size"])
finalize()
"""
UNIVERSE_2 = CLIENT_2 + """
show(ask("info-getjobattr", ("key", "universeSize"))["value"])
assert ask("finalize")["rc"] == "0"
"""

REFUSED = r"scela-run: rank 0 \(\S+\) could not spawn: "


class SpawnTest(JobTest):
    def run_program(self, program, *options, words=()):
        """An argument of PMI-1 is one line, so that the program is a file."""
        return self.run_job(*options, job.PYTHON, self.file("program.py", program), *words)

    def test_children_are_a_world_of_their_own(self):
        # Parents, where the children run, their mapping, the tree.
        for parents, nodes, mapping, options in (
                (1, "0000", "(vector,(0,1,3),(0,1,1))", ("-n", 1)),
                (1, "0000", "(vector,(0,1,3),(0,1,1))", ("--pmi", "port", "-n", 1)),
                (3, "0120", "(vector,(0,3,1),(0,1,1))", ("--sim-nodes", 3, "--ppn", 1, "--degree", 1))):
            ended = self.run_program(PARENT_AND_CHILD, *options)
            self.assertEqual((ended.status, ended.err), (0, ""))
            lines = [f"parent {rank} of {parents}" for rank in range(parents)]
            for rank, (node, app) in enumerate(zip(nodes, "0001")):
                host = f"sim{node}" if parents > 1 else os.uname().nodename
                lines.append(f"child {rank} of 4 app {app} node {host} {mapping}" + (" two words" if app == "0" else ""))
            self.assertEqual(sorted(ended.lines), sorted(lines))

    def test_children_under_every_cache_policy(self):
        for policy in ("hcs", "hcma", "hcmab", "hcmab-lru", "dht"):
            ended = self.run_program(PARENT_AND_CHILD, "--sim-nodes", 3, "--ppn", 1, "--degree", 1, "--cache", policy)
            self.assertEqual((ended.status, ended.err, len(ended.lines)), (0, "", 7))

    def test_spawned_ranks_spawn(self):
        ended = self.run_program(GENERATIONS, "--sim-nodes", 2, "--ppn", 1, words=(3,))
        self.assertEqual((ended.status, ended.err, sorted(ended.lines)), (0, "", ["1 2 here", "2 3 here", "3 None here"]))

    def test_pmi_2(self):
        ended = self.run_program(PMI_TWO, "--sim-nodes", 2, "--ppn", 1)
        self.assertEqual(ended.status, 0, ended.err)
        self.assertRegex(ended.err, rf"\A{REFUSED}.*no-such-program.*No such file or directory.*\n\Z")
        self.assertEqual(sorted(ended.lines), [f"child {rank} of 4 app {rank // 2} {('one', 'two')[rank // 2]}"
                                               for rank in range(4)])

    def spawn(self, *words, options=("--sim-nodes", 2, "--ppn", 1)):
        return self.run_program(SPAWN_WORDS, *options, words=words)

    def test_a_missing_program_is_an_error_to_the_asker_and_a_line_to_the_user(self):
        # What was started along with it is ended again, and that is nobody's failure.
        for words, codes in ((("2:no-such-program:",), "1,1"), (("1:sleep,1000:", "2:no-such-program:"), "0,1,1")):
            ended = self.spawn(*words)
            self.assertEqual(ended.status, 0, ended.err)
            self.assertRegex(ended.err, rf"\A{REFUSED}on sim[01]: find 'no-such-program': No such file or directory \(ENOENT\) \(searched: .*\)\n\Z")
            self.assertEqual(len(ended.lines), 1, ended.lines)
            self.assertRegex(ended.lines[0], rf"^1 {codes} on_sim[01]:_find_'no-such-program'.*$")

    def test_a_request_that_cannot_be_is_an_error_to_the_asker(self):
        for words, why in ((("0:true:",), "nprocs"), (("x:true:",), "nprocs"), (("1::",), "execname"),
                           (("1:true:", "99999999:true:"), "ranks"),
                           (("1:true:host=elsewhere",), "elsewhere'_is_not_among_the_job's_hosts"),
                           (("1:true:wdir=no-such-directory",), "no-such-directory")):
            ended = self.spawn(*words)
            self.assertEqual(ended.status, 0, ended.err)
            self.assertRegex(ended.lines[0], rf"^1 \S+ .*{why}.*$")
            self.assertNotIn("spawn: spawn", ended.err)
        for options in (("-w", "localhost"), ("--launch", "local", "-w", "a,b")):
            ended = self.spawn("1:true:", options=options)
            self.assertIn("1 none a_command_that_runs_once_on_each_host", "\n".join(ended.lines))

    def test_hints(self):
        self.script("hello", "echo $SCELA_NODE $PWD")
        ended = self.spawn(f"2:hello:host=sim1,path={self.folder},wdir={self.folder}", options=("--sim-nodes", 3, "--ppn", 1))
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), ["0 0,0 "] + 2 * [f"sim1 {self.folder}"])

    def test_free_slots_first(self):
        where = "sh,-c,echo $SCELA_NODE"
        ended = self.spawn(f"5:{where}:", options=("--launch", "local", "-w", "a:3,b:2", "-n", 4, "--oversubscribe"))
        self.assertEqual(sorted(ended.lines), ["0 0,0,0,0,0 ", "a", "a", "b", "b", "b"], ended.err)

    def test_statistics_count_ranks_that_ran(self):
        for words, ranks in (("2:true:",), 4), (("2:no-such-program:",), 2):
            ended = self.spawn(*words, options=("--stats", "--sim-nodes", 2, "--ppn", 1))
            self.assertIn(f"scela-run: {ranks} ranks on 2 nodes, ", ended.err)

    def test_verbose_tells_what_is_spawned_where(self):
        ended = self.spawn("2:true:", options=("-v", "--sim-nodes", 2, "--ppn", 1))
        self.assertRegex(ended.err, r"rank 0 \(\S+\) spawns 2 ranks from 2 on: 2 of true on sim\[0-1\]\n")

    def test_a_manager_fills_its_universe(self):
        # Options, what PMI-1 and PMI-2 say, where the workers run.
        for options, size, where in ((("-w", "a:1,b:2,c:2"), 5, "bbcc"), (("-w", "a:3"), 3, "aa"),
                                     (("-w", "a:1,b:2,c:2", "--usize", "system"), 5, "bbcc"),
                                     (("-w", "a:1,b:1,c:1", "-usize", "4"), 4, "abc")):
            ended = self.run_program(MANAGER, "--launch", "local", *options, "-n", 1)
            self.assertEqual((ended.status, ended.err), (0, ""))
            self.assertEqual(sorted(ended.lines), [f"{size} {size}"] + list(where))

    def test_hosts_without_a_rank_get_an_agent_when_ranks_are_spawned_there(self):
        for options in ((), ("--degree", "1"), ("--cache", "hcs"), ("--cache", "dht"), ("--pmi", "port"),
                        ("--on-failure", "wait", "--adopt-timeout", "5")):
            ended = self.run_program(GROWS, "--sim-nodes", 6, "-n", 1, *options, words=("2:sim4,sim1", "5", "1:sim4"))
            self.assertEqual((ended.status, ended.err), (0, ""), options)
            self.assertEqual([line for line in ended.lines if line.startswith("spawn")],
                             ["spawn 0 0 0,0 ", "spawn 1 0 0,0,0,0,0 ", "spawn 2 0 0 "])
            where = [sorted(line.split()[2] for line in ended.lines if line.startswith(f"worker {n}")) for n in range(3)]
            self.assertEqual(where[0], ["sim1", "sim4"])
            self.assertLessEqual({"sim2", "sim3", "sim5"}, set(where[1]))
            self.assertEqual(where[2], ["sim4"])

    def test_a_late_agent_is_part_of_the_job(self):
        # Its ranks' output is labelled, counted, and its failures end the job.
        ended = self.spawn("1:sh,-c,echo here; exit 3:host=sim1", options=("-l", "--sim-nodes", 2, "-n", 1))
        self.assert_ended(ended, 3, r"rank 1 on sim1 \(sh\) exited with code 3")
        self.assertIn("1: here", ended.lines)
        ended = self.spawn("1:true:host=sim2", options=("--stats", "-v", "--sim-nodes", 3, "-n", 1))
        self.assertRegex(ended.err, "starting 1 agent more, for ranks that are spawned")
        self.assertRegex(ended.err, r"scela-run: 2 ranks on 2 nodes, ")
        ended = self.spawn("1:sleep,1000:host=sim1", options=("--timeout", 2, "--sim-nodes", 2, "-n", 1))
        self.assert_ended(ended, 124, r"the job reached its time limit of 2 s \(--timeout\) and was ended")

    def test_nothing_is_spawned_where_that_is_switched_off(self):
        ended = self.run_program(GROWS, "--no-spawn", "--sim-nodes", 2, "-n", 1, words=("1",))
        self.assertEqual(ended.status, 0, ended.err)
        self.assertRegex(ended.err, rf"\A{REFUSED}spawning is switched off \(--no-spawn\)\n\Z")
        self.assertRegex("\n".join(ended.lines), r"\Aspawn 0 1 \S+ \S*switched_off\S*\Z")

    def test_a_spawn_is_answered_with_the_agent_that_does_not_start(self):
        # The program that starts agents refuses host b the first time.
        once = os.path.join(self.folder, "once")
        shell = self.script("starter", f"""
            if [ "$1" = b ] && mkdir {once} 2>/dev/null; then echo no way to b >&2; exit 255; fi
            shift; exec sh -c "$*" """)
        ended = self.run_program(GROWS, "--launch", f"rsh:{shell}", "--agent", os.environ["SCELA_AGENT"], "-w", "localhost,b,c",
                                 "-n", 1, words=("1:b", "1:b", "1:c"))
        self.assertEqual(ended.status, 0, ended.err)
        self.assertRegex(ended.err, rf"\A{REFUSED}b: start its agent \(\S+\): .*no way to b.*\n\Z")
        spawns = [line for line in ended.lines if line.startswith("spawn")]
        self.assertRegex(spawns[0], "^spawn 0 1 .*no_way_to_b")
        self.assertEqual(spawns[1:], ["spawn 1 0 0 ", "spawn 2 0 0 "])

    def test_a_universe_without_limit(self):
        for program in (UNIVERSE, UNIVERSE_2):
            ended = self.run_program(program, "-n", 2, "--usize", "infinite")
            self.assertEqual((ended.status, ended.err, ended.lines), (0, "", ["-1", "-1"]))

    def test_a_child_that_fails_ends_the_job(self):
        for words, status, cause in ((("1:sh,-c,exit 3:", "1:sleep,1000:"), 3, "exited with code 3"),
                                     (("1:sleep,1000:", "1:sh,-c,kill -9 $$:"), 137, "killed by signal 9.*")):
            ended = self.spawn(*words)
            rank = 2 if status == 3 else 3
            self.assert_ended(ended, status, rf"rank {rank} on sim[01] \(sh\) {cause}")

    def test_children_under_on_failure_wait(self):
        ended = self.spawn("1:sh,-c,exit 3:", "1:echo,done:", options=("--sim-nodes", 2, "--ppn", 1, "--on-failure", "wait"))
        self.assert_ended(ended, 3, r"rank 2 on sim[01] \(sh\) exited with code 3")
        self.assertIn("done", ended.lines)

    def test_the_job_lasts_as_long_as_its_children(self):
        ended = self.spawn("2:sh,-c,sleep 1; echo late:", options=("-l", "--sim-nodes", 2, "--ppn", 1))
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertEqual(sorted(ended.lines), ["0: 0 0,0 ", "2: late", "3: late"])

    def test_children_end_with_the_job(self):
        ended = self.spawn("3:sleep,1000:", options=("--timeout", 2, "--sim-nodes", 2, "--ppn", 1))
        self.assert_ended(ended, 124, r"the job reached its time limit of 2 s \(--timeout\) and was ended")

    def test_a_run_with_spawns_replays_to_the_same_actions(self):
        record = os.path.join(self.folder, "record")
        self.spawn("3:true:", "1:no-such-program:", options=("--record", record, "--sim-nodes", 3, "--ppn", 1))
        self.run_program(GENERATIONS, "--record", record, "--sim-nodes", 3, "--ppn", 1, "--degree", 1, words=(2,))
        files = sorted(glob.glob(record + "*"))
        self.assertEqual(len(files), 4)
        replayed = subprocess.run([os.environ["REPLAY_RECORD"], *files], capture_output=True, text=True, check=False,
                                  timeout=job.DEADLINE_S)
        self.assertEqual(replayed.returncode, 0, replayed.stdout)

    def test_files_of_children(self):
        folder = os.path.join(self.folder, "out")
        self.spawn("2:echo,hello:", options=("--output-dir", folder, "-n", 2))
        for rank in (2, 3):
            with open(os.path.join(folder, f"rank.{rank}.out"), encoding="ascii") as f:
                self.assertEqual(f.read(), "hello\n")


if __name__ == "__main__":
    job.main()
