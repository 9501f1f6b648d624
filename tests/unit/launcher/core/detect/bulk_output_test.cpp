#include "launcher/core/detect/bulk_output.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace bulk_output_test {

using namespace scela;
using Words = std::vector<std::string>;

TEST_CASE("bulk output: the last lines are shown, without what tells nothing") {
  CHECK(bulk_lines("").empty());
  CHECK(bulk_lines(
            "a\n\nsrun: warning: the cluster configuration lacks support for cpu binding\nb") ==
        Words{"a", "b"});
  std::string many;
  for (int i = 0; i < 20; ++i)
    many += cat("line ", i, "\n");
  CHECK(bulk_lines(many).size() == kMaxBulkLines);
  CHECK(bulk_lines(many).front() == "line 10");
}

TEST_CASE("bulk output: an agent's own words tell more than its exit status") {
  CHECK(telling_line({}).empty());
  CHECK(
      telling_line({"scela-nla: no route", "srun: error: n1: task 0: Exited with exit code 69"}) ==
      "scela-nla: no route");
  CHECK(telling_line({"flux-exec: Error: rank 2: agent: No such file or directory", "[1-3]: Exit 1",
                      "0: Exit 69"}) ==
        "flux-exec: Error: rank 2: agent: No such file or directory");
  CHECK(telling_line({"a: Exit 1"}) == "a: Exit 1");
  CHECK(telling_line({"0: Exit 1", "1: Exit 2"}) == "1: Exit 2");
}

TEST_CASE("bulk output: each line has the name of the command, once") {
  CHECK(named_line("srun", "srun: error: x") == "srun: error: x");
  CHECK(named_line("srun", "slurmstepd: x") == "srun: slurmstepd: x");
  CHECK(named_line("flux exec", "flux-exec: Error: x") == "flux-exec: Error: x");
  CHECK(named_line("flux exec", "0: Exit 1") == "flux exec: 0: Exit 1");
}

TEST_CASE("bulk output: the variables of a job that has ended are to be removed") {
  const std::string over = bulk_advice("srun: error: Slurm job 90 has expired");
  CHECK(over.find("unset SLURM_JOB_ID") != std::string::npos);
  CHECK(bulk_advice("srun: error: x") == "give --launch ssh to start the agents over ssh");
}

}  // namespace bulk_output_test
