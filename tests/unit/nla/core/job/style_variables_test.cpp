// The variables of the ranks of a training job, the ports where they meet, and the parts of their
// words.
#include "nla/core/job/style_variables.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>

#include "common/core/text.h"
#include "nla/core/job/meeting_ports.h"
#include "nla/core/job/word_parts.h"

namespace style_variables_test {

using namespace scela;
using namespace scela::nla;

namespace {

// Rank 5 of 8, the second of four on the second of two nodes. The nodes have the numbers 3 and 1 in
// the host list.
RankMap two_nodes() {
  return RankMap::from_blocks({{3, 1, 4}, {1, 1, 4}});
}
constexpr RankNumbers kRankFive{5, 8, 1, 4, 3, 16, 1, "n1", "train.py"};

Training training(EnvStyles styles) {
  Training out;
  out.styles = styles;
  out.master = {"10.1.2.3", 61500};
  out.node_list = "10.1.2.3,n1";
  out.run_id = "abc";
  out.restarts = 2;
  out.max_restarts = 3;
  return out;
}

std::map<std::string, std::string> variables(EnvStyles styles, const RankNumbers& numbers) {
  std::map<std::string, std::string> out;
  for (const StyleVariable& one :
       style_variables(training(styles), RankNodes(two_nodes()), numbers)) {
    CHECK(out.emplace(one.name, one.value).second);
  }
  return out;
}

}  // namespace

TEST_CASE("torch's names have the numbers of the rank, of its node and of the start") {
  auto told = variables({true, false, false, false}, kRankFive);
  CHECK(told["RANK"] == "5");
  CHECK(told["WORLD_SIZE"] == "8");
  CHECK(told["LOCAL_RANK"] == "1");
  CHECK(told["LOCAL_WORLD_SIZE"] == "4");
  CHECK(told["NODE_RANK"] == "1");
  CHECK(told["GROUP_RANK"] == "1");
  CHECK(told["GROUP_WORLD_SIZE"] == "2");
  CHECK(told["MASTER_ADDR"] == "10.1.2.3");
  CHECK(told["MASTER_PORT"] == "61500");
  CHECK(told["TORCHELASTIC_RUN_ID"] == "abc");
  CHECK(told["TORCHELASTIC_RESTART_COUNT"] == "2");
  CHECK(told["TORCHELASTIC_MAX_RESTARTS"] == "3");
  CHECK(told["TORCHELASTIC_USE_AGENT_STORE"] == "False");
  CHECK(told["OMP_NUM_THREADS"] == "1");
  CHECK(told.count("SLURM_PROCID") == 0);
}

TEST_CASE("rank 0's node has number 0, whatever its number in the host list") {
  const RankNumbers zero{0, 8, 0, 4, 0, 8, 3, "n3", "p"};
  CHECK(variables({true, false, false, false}, zero)["NODE_RANK"] == "0");
  CHECK(variables({false, false, false, true}, zero)["SLURM_NODEID"] == "0");
  const RankNodes nodes(RankMap::from_blocks({{2, 3, 1}, {2, 2, 1}, {0, 1, 2}}));
  CHECK(nodes.nodes() == std::vector<std::uint32_t>{2, 3, 4, 0});
  CHECK(nodes.tasks_per_node() == "2(x2),1,2");
  CHECK_FALSE(nodes.are_even());
  CHECK(nodes.place_of(7) == nodes.size());
}

TEST_CASE("a rank that is alone on its node keeps all threads") {
  const RankNumbers alone{0, 2, 0, 1, 0, 2, 3, "n3", "p"};
  CHECK(variables({true, false, false, false}, alone).count("OMP_NUM_THREADS") == 0);
}

// jax/_src/clusters/ompi_cluster.py and slurm_cluster.py.
TEST_CASE("JAX computes MASTER_PORT from the numbers of the jobs of Open MPI and Slurm") {
  auto told = variables({false, true, false, true}, kRankFive);
  const std::string uri = told["OMPI_MCA_orte_hnp_uri"];
  const auto job = std::stoul(uri.substr(0, uri.find('.')));
  CHECK(job / 4096 % 4096 + 61440 == 61500);
  CHECK(uri.ends_with(".0;tcp://10.1.2.3:61500"));
  CHECK(std::stoul(told["SLURM_JOB_ID"]) % 4096 + 61440 == 61500);
  CHECK(told["SLURM_STEP_NODELIST"] == "10.1.2.3,n1");
  CHECK(told["SLURM_STEP_NUM_NODES"] == "2");
  CHECK(told["SLURM_NTASKS"] == "8");
  CHECK(told["SLURM_PROCID"] == "5");
  CHECK(told["SLURM_LOCALID"] == "1");
  CHECK(told["SLURM_NODEID"] == "1");
  CHECK(told["SLURM_TASKS_PER_NODE"] == "4(x2)");
  CHECK(told["SLURM_NTASKS_PER_NODE"] == "4");
  CHECK(told["SLURM_JOB_NAME"] == "train.py");
  CHECK(told["OMPI_COMM_WORLD_RANK"] == "5");
  CHECK(told["OMPI_COMM_WORLD_SIZE"] == "8");
  CHECK(told["OMPI_COMM_WORLD_LOCAL_RANK"] == "1");
  CHECK(told["OMPI_COMM_WORLD_LOCAL_SIZE"] == "4");
  CHECK(told["OMPI_COMM_WORLD_NODE_RANK"] == "3");
  CHECK(told["OMPI_UNIVERSE_SIZE"] == "16");
}

TEST_CASE("mpich's names are those of Hydra and of MVAPICH") {
  auto told = variables({false, false, true, false}, kRankFive);
  CHECK(told["PMI_RANK"] == "5");
  CHECK(told["PMI_SIZE"] == "8");
  CHECK(told["MV2_COMM_WORLD_RANK"] == "5");
  CHECK(told["MV2_COMM_WORLD_LOCAL_RANK"] == "1");
  CHECK(told["MASTER_PORT"] == "61500");
}

TEST_CASE("without styles there are no variables") {
  CHECK(variables({}, kRankFive).empty());
}

TEST_CASE("numbers of an outer rank are removed, and what users set is not") {
  for (const char* name : {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
                           "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_TASK_PID", "MV2_COMM_WORLD_SIZE",
                           "TORCHELASTIC_USE_AGENT_STORE", "OMPI_MCA_orte_hnp_uri"}) {
    INFO(name);
    CHECK(is_of_outer_rank(name));
  }
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "SLURM_JOB_ID",
                           "SLURM_JOB_NODELIST", "PATH", "SLURM_CONF", "RANKS"}) {
    INFO(name);
    CHECK_FALSE(is_of_outer_rank(name));
  }
}

TEST_CASE("ports are tried above those that the system hands out, from a place of the job") {
  const auto ports = meeting_ports("job-1", {});
  CHECK(ports.size() == kMeetingPorts);
  CHECK(std::set<std::uint16_t>(ports.begin(), ports.end()).size() == kMeetingPorts);
  CHECK(*std::ranges::min_element(ports) == 61440);
  CHECK(*std::ranges::max_element(ports) == 65535);
  CHECK(meeting_ports("job-1", {}) == ports);
  CHECK(meeting_ports("job-2", {}).front() != ports.front());
  for (const std::uint16_t port : meeting_ports("job-1", {1024, 65000}))
    CHECK(port > 65000);
  CHECK(meeting_ports("job-1", {1024, 65535}).empty());
}

TEST_CASE("the range of ports is read as the kernel writes it") {
  CHECK(parse_port_range("1024\t2048\n").first == 1024);
  CHECK(parse_port_range("1024\t2048\n").last == 2048);
  for (const char* bad : {"", "x", "5", "9 3", "1 2 3"})
    CHECK(parse_port_range(bad).last == 60999);
}

TEST_CASE("a rendezvous is read as it was written, and nothing else is one") {
  const Rendezvous point{"fe80::1%eth0", 61441};
  CHECK(parse_rendezvous(format(point)) == point);
  for (const char* bad : {"", " 1", "a", "a ", "a 0", "a 65536", "a 1 2", "a -1", "a 1\n"}) {
    INFO(bad);
    CHECK_FALSE(parse_rendezvous(bad));
  }
}

TEST_CASE("parts of words are replaced, and other percent signs stay") {
  const WordParts parts{"n7", 2, 5, "job-1", "me"};
  CHECK(expand_word("--node_rank=%n", parts) == "--node_rank=2");
  CHECK(expand_word("%h:%r/%j/%u", parts) == "n7:5/job-1/me");
  CHECK(expand_word("date +%Y-%m %%h 100%", parts) == "date +%Y-%m %h 100%");
  CHECK(expand_word("", parts).empty());
}

}  // namespace style_variables_test
