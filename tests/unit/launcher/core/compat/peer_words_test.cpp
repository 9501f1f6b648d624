// Whole command lines of peers.
#include "launcher/core/compat/peer_words.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "launcher/core/options/options.h"
#include "launcher/core/values/text_values.h"

namespace peer_words_test {

using namespace scela;

namespace {

using Words = std::vector<std::string>;

Result<PeerTranslation> translated(std::string name, Words words,
                                   const PeerVariables& variables = {}) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path == "hosts") return std::string("a:2\nb\n");
    if (path == "programs") return std::string("# two\n-n 1 ./a  x :\n\n-n 2\t./b\n");
    if (path == "empty") return std::string("# none\n");
    return fail(value_error(cat("no file ", path)));
  };
  return translate({std::move(name), std::move(words)}, variables, read);
}

std::string line(std::string name, Words words, const PeerVariables& variables = {}) {
  const auto made = translated(std::move(name), std::move(words), variables);
  INFO((made ? std::string() : made.error().text()));
  REQUIRE(made);
  REQUIRE(made->kind == PeerTranslation::Kind::job);
  std::string out;
  for (const std::string& word : made->words)
    out += cat(out.empty() ? "" : "|", word);
  return out;
}

// The word that has agents set the variables of Open MPI's mpirun.
const std::string kOmpi = "--genv=OMPI_COMM_WORLD_RANK=0";

std::string refusal(std::string name, Words words) {
  const auto made = translated(std::move(name), std::move(words));
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == ErrorKind::usage);
  return made.error().text();
}

}  // namespace

TEST_CASE("a name of argv[0] or of --as makes scela-run another tool, and no other does") {
  const auto by_link = peer_command("/opt/compat/mpirun", {"-np", "2"});
  REQUIRE(by_link);
  REQUIRE(*by_link);
  CHECK((*by_link)->name == "mpirun");
  CHECK((*by_link)->words == Words{"-np", "2"});
  for (const Words& words : {Words{"--as", "pdsh", "-w", "a"}, Words{"--as=pdsh", "-w", "a"}}) {
    const auto by_word = peer_command("mpirun", words);
    REQUIRE(by_word);
    CHECK((*by_word)->name == "pdsh");
    CHECK((*by_word)->words == Words{"-w", "a"});
  }
  CHECK_FALSE(*peer_command("scela-run", {"-n", "2", "--as", "pdsh"}));
  CHECK_FALSE(*peer_command("", {}));
  const auto wrong = peer_command("scela-run", {"--as", "ssh"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text().starts_with(
      "option --as: 'ssh' is no tool that scela-run can stand for (give mpiexec, "));
  CHECK(peer_command("scela-run", {"--as"})
            .error()
            .text()
            .starts_with("option --as: its value is missing"));
}

TEST_CASE("Open MPI's -x is a variable and never a host, and pdsh's is a host") {
  const PeerVariables variables{{"FOO", "1 2"}, {"FOOBAR", "3"}, {"OTHER", "4"}};
  CHECK(line("mpirun", {"-np", "1", "-x", "FOO", "p"}, variables) ==
        kOmpi + "|--np=1|--env=FOO=1 2|p");
  CHECK(line("mpirun", {"-np", "1", "-x", "FOO=5", "p"}, variables) ==
        kOmpi + "|--np=1|--env=FOO=5|p");
  CHECK(line("mpirun", {"-np", "1", "-x", "FOO*", "p"}, variables) ==
        kOmpi + "|--np=1|--env=FOO=1 2|--env=FOOBAR=3|p");
  const auto unset = translated("mpirun", {"-np", "1", "-x", "NONE", "p"}, variables);
  REQUIRE(unset);
  CHECK(unset->words == Words{kOmpi, "--np=1", "p"});
  REQUIRE(unset->notes.size() == 1);
  CHECK(unset->notes[0].find("NONE of -x is not set") != std::string::npos);
  CHECK(line("pdsh", {"-w", "a,b", "-x", "FOO", "id"}, variables).find("--exclude=FOO|") == 0);
}

TEST_CASE("mpiexec's hosts have one slot each, filled in turn, or as many as -ppn says") {
  CHECK(line("mpiexec", {"-hosts", "a,b:2", "p"}) ==
        "--oversubscribe|--hosts=a:slots=1,b:slots=2|--np=3|p");
  CHECK(line("mpiexec", {"-n", "4", "-f", "hosts", "p"}) ==
        "--oversubscribe|--np=4|--hosts=a:slots=2,b:slots=1|p");
  CHECK(line("mpiexec", {"-ppn", "3", "-hosts", "a,b,a", "p"}) ==
        "--oversubscribe|--hosts=a:slots=3,b:slots=3|--np=6|p");
  CHECK(line("mpiexec", {"p"}) == "--oversubscribe|p");
  CHECK(line("mpiexec", {"-ppn", "3", "p"}) == "--oversubscribe|--ppn=3|p");
  CHECK(line("mpiexec", {"p", ":", "q"}) == "--oversubscribe|--np=1|p|:|--np=1|q");
  CHECK(line("mpiexec", {"-hosts", "a:2000", "p"}).find("--hosts=a:slots=2000|") !=
        std::string::npos);
  CHECK(line("mpiexec", {"p"}, {{"HYDRA_HOST_FILE", "hosts"}})
            .find("--hosts=a:slots=2,b:slots=1|--np=3") != std::string::npos);
}

TEST_CASE("mpirun's hosts have a slot for each mention, and without -np every slot has a rank") {
  CHECK(line("mpirun", {"--host", "a,b:2,a", "p"}) ==
        kOmpi + "|--hosts=a:slots=1,b:slots=2,a:slots=1|p");
  CHECK(line("mpirun", {"-N", "2", "-H", "a,b", "p"}) ==
        kOmpi + "|--ppn=2|--hosts=a:slots=2,b:slots=2|p");
  CHECK(line("mpirun", {"p"}) == kOmpi + "|--map-by=core|--bind-to=none|p");
  CHECK(line("mpirun", {"-np", "4", "p"}) == kOmpi + "|--np=4|p");
  CHECK(line("mpirun", {"--hostfile", "hosts", "-np", "4", "p"}) ==
        "--hostfile=hosts|" + kOmpi + "|--map-by=core|--bind-to=none|--np=4|p");
  CHECK(line("mpirun", {"--hostfile", "hosts", "--map-by", "ppr:2:node:PE=3", "p"}) ==
        "--hostfile=hosts|--cpus-per-rank=3|" + kOmpi + "|--map-by=core|--ppn=2|p");
}

TEST_CASE("a line with an option of the other mpiexec is read as by that") {
  CHECK(line("mpiexec", {"--mca", "btl", "self", "-np", "1", "p"}) ==
        kOmpi + "|--env=OMPI_MCA_btl=self|--np=1|p");
  CHECK(line("mpirun", {"-genv", "A", "1", "-np", "1", "p"}) ==
        "--genv=A=1|--oversubscribe|--np=1|p");
  CHECK(refusal("mpirun", {"--nonsense", "p"}) ==
        "unknown option --nonsense of mpirun (scela-run --as mpirun --help lists all of them)");
  CHECK(refusal("mpiexec.hydra", {"-mca", "a", "b", "p"}).find("unknown option -mca") == 0);
}

TEST_CASE("programs behind a colon have their own options, and those of the job come first") {
  CHECK(line("mpiexec", {"-n", "1", "./a", "-x", ":", "-n", "2", "-env", "K", "V", "-l", "./b"}) ==
        "--label=[%r] |--oversubscribe|--np=1|./a|-x|:|--np=2|--env=K=V|./b");
  CHECK(line("pdsh", {"-w", "a", "echo", ":", "x"}).ends_with("|echo : x"));
}

TEST_CASE("options end at the program, and two dashes before a program with a dash stay") {
  CHECK(line("mpirun", {"-np", "1", "./p", "-np", "9"}) == kOmpi + "|--np=1|./p|-np|9");
  CHECK(line("mpirun", {"-np", "1", "--", "-p"}) == kOmpi + "|--np=1|--|-p");
}

TEST_CASE("letters of srun, pdsh and clush stand together, and long names may be cut short") {
  CHECK(line("srun", {"-ln4", "--chd=/tmp", "p"}) ==
        "--label|--stdin=all|--on-failure=wait|--exit-status=max|--np=4|--wdir=/tmp|p");
  CHECK(line("clush", {"-bSw", "a", "id"}).find("--gather|--exit-status=max|") == 0);
  CHECK(refusal("srun", {"--n=4", "p"}).find("unknown option --n of srun") == 0);
  CHECK(refusal("srun", {"-n"}) == "option -n of srun: its value is missing (write -n VALUE)");
  CHECK(refusal("srun", {"--label=3", "p"}) ==
        "option --label of srun: it takes no value (leave the value out)");
  CHECK(refusal("srun", {"-n", "many", "p"}).find("option -n of srun: 'many'") == 0);
}

TEST_CASE("srun takes the first of its hosts, those of -w or of the allocation") {
  const std::string rest = "--stdin=all|--on-failure=wait|--exit-status=max|";
  CHECK(line("srun", {"p"}) == rest + "--np=1|p");
  CHECK(line("srun", {"-w", "n[1-3]", "-x", "n2", "p"}) == rest + "--hosts=n1,n3|--ppn=1|p");
  CHECK(line("srun", {"-N", "2", "-r", "1", "-w", "n[1-3]", "p"}) ==
        rest + "--hosts=n2,n3|--ppn=1|p");
  CHECK(line("srun", {"-N", "2", "-n", "4", "p"}, {{"SLURM_JOB_NODELIST", "n[1-3]"}}) ==
        rest + "--np=4|--hosts=n1,n2|p");
  CHECK(line("srun", {"p"}, {{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_NTASKS", "6"}}) ==
        rest + "--hosts=n1,n2,n3|--np=6|p");
  CHECK(refusal("srun", {"-N", "3", "-w", "n[1-2]", "p"}).find("ask for 3 of 2 hosts") !=
        std::string::npos);
  CHECK(refusal("srun", {"-N", "2", "p"}).find("ask for 2 of 0 hosts") != std::string::npos);
  CHECK(line("srun", {"-K", "-i", "none", "--pty", "p"}).find("--stdin=all") == std::string::npos);
  CHECK(line("srun", {"-K0", "p"}).find("--on-failure=wait") == 0);
  CHECK(line("srun", {"-K", "p"}).find("--on-failure=kill") == 0);
  for (const auto& [time, seconds] :
       {std::pair{"UNLIMITED", "0"}, std::pair{"INFINITE", "0"}, std::pair{"-1", "0"},
        std::pair{"2", "120"}, std::pair{"1:30", "90"}, std::pair{"1:0:5", "3605"},
        std::pair{"1-2", "93600"}, std::pair{"1-0:1:1", "86461"}})
    CHECK(line("srun", {"-t", time, "p"}).find(cat("--timeout=", seconds, "|")) == 0);
  CHECK(refusal("srun", {"-t", "soon", "p"}).find("option -t of srun: 'soon' is no time") == 0);
}

TEST_CASE("pdsh and clush give one text to the shell of each host, at home, and return 0") {
  CHECK(line("pdsh", {"-w", "n[1-2]", "ls", "-l", "x y"}) ==
        "--stdin=none|--expand|--exit-status=ignore|--keep|--hosts=n[1-2]|--wdir=~|ls -l x y");
  CHECK(line("clush", {"-w", "n[1-2]", "uptime"}).ends_with("--wdir=~| uptime"));
  CHECK(line("clush", {"-w", "n[1-2]", "id", "-u"}).find("--exit-status=ignore|--keep|") == 0);
  CHECK(line("clush", {"-w", "n[1-2]", "--", "-x"}).ends_with("| -x"));
  CHECK(line("pdsh", {"-w", "ssh:a,-b,^f,c[1-2]", "id"}).find("--hosts=a,^f,c[1-2]|") !=
        std::string::npos);
  CHECK(line("pdsh", {"-w", "ssh:a,-b,^f,c[1-2]", "id"}).find("--exclude=b|") == 0);
  CHECK(line("pdsh", {"id"}, {{"WCOLL", "file"}}).find("--hosts=^file|") != std::string::npos);
  CHECK(line("pdsh", {"-S", "-w", "a", "id"}).find("--exit-status=ignore") == std::string::npos);
  CHECK(refusal("pdsh", {"id"}) ==
        "choose the hosts of pdsh: no option names any (write pdsh -w LIST COMMAND)");
  CHECK(refusal("pdsh", {"-w", "a"}).find("no command is given") != std::string::npos);
  CHECK(refusal("pdsh", {"-w", "/re/", "id"}).find("option -w of pdsh: hosts are not chosen by") ==
        0);
  CHECK(refusal("clush", {"-w", "@all", "id"}).find("option -w of clush: '@all' names a group") ==
        0);
  CHECK(line("clush", {"-w", "me@a", "id"}).find("--hosts=me@a|") != std::string::npos);
}

TEST_CASE("dshbak gathers lines, pdcp is refused, and help and version need no program") {
  const auto gather = translated("dshbak", {"-c"});
  REQUIRE(gather);
  CHECK(gather->kind == PeerTranslation::Kind::gather);
  CHECK(gather->coalesces);
  CHECK_FALSE(translated("dshbak", {})->coalesces);
  CHECK(refusal("dshbak", {"file"}).find("write dshbak < FILE") != std::string::npos);
  CHECK(refusal("pdcp", {"-w", "a", "x", "/tmp"}).find("scela-run copies no files yet") !=
        std::string::npos);
  for (const char* name : {"mpiexec", "mpirun", "srun", "pdsh", "clush", "dshbak", "pdcp"})
    for (const char* word : {"-h", "--help"})
      CHECK(translated(name, {word})->kind == PeerTranslation::Kind::help);
  CHECK(line("srun", {"-V"}) == "--version");
  CHECK(line("mpirun", {"--version"}) == "--version");
}

TEST_CASE("labels of other tools have their forms") {
  CHECK(line("mpiexec", {"-l", "p"}).starts_with("--label=[%r] |"));
  CHECK(line("mpiexec", {"-prepend-pattern", "%p/%r@%h 5%%: ", "p"})
            .starts_with("--label=%n/%r@%h 5%%: |"));
  CHECK(line("mpiexec", {"-prepend-pattern", "%r %x ", "p"}).starts_with("--label=%r %%x |"));
  CHECK(refusal("mpiexec", {"-prepend-pattern", "%t %r", "p"}).find("the part '%t'") !=
        std::string::npos);
  CHECK(refusal("mpiexec", {"-prepend-pattern", "all: ", "p"}).find("add %r") != std::string::npos);
  const std::string tag = "--label=[1,%r]<std%s>:|";
  CHECK(line("mpirun", {"--tag-output", "p"}).starts_with(tag));
  CHECK(line("mpirun", {"--output", "tag", "p"}).starts_with(tag));
  CHECK(line("mpirun", {"--output", "rank", "p"}).starts_with("--label|"));
}

TEST_CASE("memory is bound by the words of srun and Hydra") {
  CHECK(line("srun", {"--mem-bind=local", "p"}).find("--mem-bind=local|") != std::string::npos);
  CHECK(line("srun", {"--mem-bind=v,prefer,sort", "p"})
            .find("--report-bindings|--mem-bind=prefer|") != std::string::npos);
  CHECK(refusal("srun", {"--mem-bind=", "p"}).find("'' is not known") != std::string::npos);
  CHECK(refusal("srun", {"--mem-bind=map_mem:0", "p"}).find("'map_mem:0' is not known") !=
        std::string::npos);
  CHECK(line("mpiexec", {"-membind", "bind:numa", "p"}).starts_with("--mem-bind=local|"));
  CHECK(refusal("mpiexec", {"-membind", "bind:core", "p"}).find("bind:numa") != std::string::npos);
}

TEST_CASE("the network of Hydra and of Open MPI's runtime is that of agents") {
  CHECK(line("mpiexec", {"-iface", "ib0", "p"}).starts_with("--network=ib0|"));
  CHECK(line("mpirun", {"--prtemca", "prte_if_include", "10.1.0.0/16", "p"})
            .starts_with("--network=10.1.0.0/16|"));
  CHECK(line("mpirun", {"--prtemca", "plm", "ssh", "p"}).find("--network") == std::string::npos);
  const std::string both = line("mpirun", {"--mca", "oob_tcp_if_include", "ib0", "p"});
  CHECK(both.starts_with("--network=ib0|"));
  CHECK(both.find("|--env=OMPI_MCA_oob_tcp_if_include=ib0|") != std::string::npos);
}

TEST_CASE("patterns of output files name scela-run's files, which have both streams of a rank") {
  const std::string rest = "--stdin=all|--on-failure=wait|--exit-status=max|--np=1|p";
  CHECK(line("srun", {"-o", "all", "-e", "all", "p"}) == rest);
  CHECK(line("srun", {"-o", "job.%t.out", "p"}) ==
        "--output-dir=.|--output-name=job.%r.%s|" + rest);
  CHECK(line("srun", {"-o", "d/e/%j-%N-%n-%t%%.out", "-e", "d/e/%j-%N-%n-%t%%.err", "p"}) ==
        "--output-dir=d/e|--output-name=%j-%h-%n-%r%%.%s|" + rest);
  CHECK(line("srun", {"-e", "/%t", "p"}) == "--output-dir=/|--output-name=%r|" + rest);
  CHECK(line("mpiexec", {"-outfile-pattern", "a/%r.%h.out", "-errfile", "a/%r.%h.err", "p"}) ==
        "--output-dir=a|--output-name=%r.%h.%s|--oversubscribe|p");
  CHECK(refusal("srun", {"-o", "a.%t", "-e", "b.%t", "p"}).find("option -e of srun: files of") ==
        0);
  CHECK(refusal("srun", {"-o", "a", "p"}).find("several ranks would share a file") !=
        std::string::npos);
  CHECK(refusal("srun", {"-o", "%t/a.%t", "p"}).find("its directory has a '%'") !=
        std::string::npos);
  CHECK(refusal("srun", {"-o", "a.%t.%s", "p"})
            .find("'%s' is not known in names of files (known "
                  "are %t, %N, %n, %j, %%)") != std::string::npos);
  CHECK(refusal("mpiexec", {"-outfile", "a.%r.%p", "p"}).find("'%p' is not known") !=
        std::string::npos);
}

TEST_CASE("a file names the programs of mpiexec and mpirun, one a line") {
  CHECK(line("mpiexec", {"-l", "-configfile", "programs", "-envnone"}) ==
        "--label=[%r] |--env-pass=none|--oversubscribe|--np=1|./a|x|:|--np=2|./b");
  CHECK(line("mpirun", {"--app", "programs"}) == kOmpi + "|--np=1|./a|x|:|--np=2|./b");
  CHECK(refusal("mpiexec", {"-configfile", "programs", "p"}).find("and so does 'p'") !=
        std::string::npos);
  CHECK(refusal("mpiexec", {"-configfile", "programs", "-configfile", "programs"})
            .find("two files name the programs") != std::string::npos);
  CHECK(refusal("mpiexec", {"-configfile", "empty"}).find("names no program") != std::string::npos);
  CHECK(refusal("mpirun", {"--app", "missing"}).find("no file missing") != std::string::npos);
}

TEST_CASE("MPIEXEC_TIMEOUT limits a job of mpiexec in seconds, if it is a number above 0") {
  const std::string rest = "--oversubscribe|p";
  CHECK(line("mpiexec", {"p"}, {{"MPIEXEC_TIMEOUT", "90"}}) == "--oversubscribe|--timeout=90|p");
  CHECK(line("mpiexec", {"p"}, {{"MPIEXEC_TIMEOUT", "-1"}}) == rest);
  CHECK(line("mpirun", {"-np", "1", "p"}, {{"MPIEXEC_TIMEOUT", "90"}}) == kOmpi + "|--np=1|p");
  const auto made = translated("mpiexec", {"p"}, {{"MPIEXEC_TIMEOUT", "soon"}});
  REQUIRE(made);
  REQUIRE(made->notes.size() == 1);
  CHECK(made->notes[0].find("MPIEXEC_TIMEOUT is no number of seconds: 'soon'") !=
        std::string::npos);
}

TEST_CASE("options of srun that change nothing here are told in one line") {
  for (const auto& [option, value] :
       {std::pair{"--mem", "4G"}, std::pair{"--hint", "nomultithread"}}) {
    const auto made = translated("srun", {cat(option, "=", value), "p"});
    REQUIRE(made);
    REQUIRE(made->notes.size() == 1);
    CHECK(made->notes[0].starts_with(cat("warning: ", option, " ", value, " of srun is ignored")));
  }
  CHECK(translated("srun", {"-W", "0", "p"})->notes.empty());
  CHECK(refusal("srun", {"-W", "30", "p"}).find("option -W of srun: there is no limit") == 0);
  CHECK(refusal("srun", {"--hint=fast", "p"}).find("'fast' is not known") != std::string::npos);
}

TEST_CASE("a number of ranks for each object is one for each node, and is checked") {
  CHECK(line("mpirun", {"--map-by", "ppr:2:node", "p"}) == kOmpi + "|--ppn=2|p");
  for (const char* value : {"ppr", "ppr:2", "ppr:2:", "ppr:0:node", "ppr:two:node", "ppr:-1:node",
                            "ppr:2:core", "ppr:2:node:fast"})
    CHECK(refusal("mpirun", {"--map-by", value, "p"}).find("option --map-by of mpirun: ") == 0);
  CHECK(refusal("mpirun", {"--ppr", "2", "p"}).find("it lacks an object (give N:node)") !=
        std::string::npos);
}

TEST_CASE("values that scela-run has no like for are refused with those that it has") {
  CHECK(refusal("mpiexec", {"-bind-to", "user:0", "p"})
            .find("option -bind-to of mpiexec: 'user:0' is not known (give none, hwthread") == 0);
  CHECK(refusal("mpirun", {"--map-by", "seq", "p"}).find("option --map-by of mpirun") == 0);
  CHECK(refusal("mpirun", {"--map-by", "ppr:2:socket", "p"}).find("and not for each 'socket'") !=
        std::string::npos);
  CHECK(refusal("mpirun", {"--map-by", "core:NOLOCAL", "p"}).find("'nolocal' is not known") !=
        std::string::npos);
  CHECK(refusal("srun", {"--cpu-bind=map_cpu:1", "p"}).find("'map_cpu:1' is not known") !=
        std::string::npos);
  CHECK(refusal("mpiexec", {"-f", "missing", "p"}).find("option -f of mpiexec: no file missing") ==
        0);
}

}  // namespace peer_words_test
