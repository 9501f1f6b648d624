// Tests which batch allocations the launcher reports as ignored.
#include "launcher/core/hosts/allocation.h"

#include <catch2/catch.hpp>
#include <map>

namespace scela {
namespace {

using Words = std::vector<std::string>;

// Returns what is said on host "n1"; empty if nothing is.
std::string said(const Words& environment, const std::map<std::string, std::string>& files = {}) {
  const auto read = [&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::string() : found->second;
  };
  return ignored_allocation(environment, "n1.cluster", read).value_or("");
}

TEST_CASE("allocation: one with other hosts is told of, with the option that names them") {
  CHECK(said({"HOME=/root", "SLURM_JOB_NODELIST=n[1-2]"}) ==
        "the hosts of this job of Slurm (SLURM_JOB_NODELIST=n[1-2]) are not used: all ranks run on "
        "this machine (name them with -w \"$SLURM_JOB_NODELIST\")");
  CHECK(said({"PBS_NODEFILE=/f"}, {{"/f", "n1\nn1\nn2\n"}}).find("PBS (PBS_NODEFILE=/f)") !=
        std::string::npos);
  CHECK(said({"LSB_DJOB_HOSTFILE=/f"}, {{"/f", "n2\n"}}).find("LSF") != std::string::npos);
  CHECK(said({"PE_HOSTFILE=/f"}, {{"/f", "n1 2 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n"}})
            .find("Grid Engine") != std::string::npos);
}

TEST_CASE("allocation: from a login host one host is another one") {
  CHECK(said({"SLURM_JOB_NODELIST=n7"}) != "");
}

TEST_CASE("allocation: of this host alone, or of no hosts, nothing is said") {
  CHECK(said({"SLURM_JOB_NODELIST=n1"}) == "");
  CHECK(said({"SLURM_JOB_NODELIST="}) == "");
  CHECK(said({"PBS_NODEFILE=/f"}, {{"/f", "n1.elsewhere\nn1\n"}}) == "");
  CHECK(said({"PE_HOSTFILE=/missing"}) == "");
  CHECK(said({"HOME=/root", "SLURM_JOB_ID=1"}) == "");
}

TEST_CASE("allocation: a list that cannot be read as a node set is one of other hosts") {
  CHECK(said({"SLURM_JOB_NODELIST=n[1-"}) != "");
}

}  // namespace
}  // namespace scela
