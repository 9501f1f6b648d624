// Tests that jobs of one user on a node have engines of their own.
#include "hca/core/wire/job_socket.h"

#include <catch2/catch.hpp>
#include <map>

namespace job_socket_test {

using namespace scela::hca;

namespace {

std::string socket_in(const std::map<std::string, std::string>& environment) {
  return socket_name(launchers_job([&](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  }));
}

}  // namespace

TEST_CASE("variables of launchers name the socket of a job's engine") {
  CHECK(socket_in({}) == "socket");
  CHECK(socket_in({{"PMIX_NAMESPACE", "708771841"}}) == "socket.pmix-708771841");
  CHECK(socket_in({{"PMI_JOBID", "12.0"}}) == "socket.pmi-12.0");
  CHECK(socket_in({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}}) == "socket.slurm-12.3");
  CHECK(socket_in({{"SLURM_JOB_ID", "12"}}) == "socket.slurm-12");
  CHECK(socket_in({{"SLURM_STEP_ID", "3"}}) == "socket");
  CHECK(socket_in({{"SLURM_JOB_ID", "12"}, {"PMIX_NAMESPACE", "n"}}) == "socket.pmix-n");
}

TEST_CASE("a job's name that cannot be part of a file's becomes digits, others stay") {
  const std::string forty(40, 'x');
  CHECK(file_word(forty) == forty);
  for (const std::string& name :
       {forty + "x", std::string("../up"), std::string("a b"), std::string("a\nb")}) {
    CAPTURE(name);
    const std::string word = file_word(name);
    CHECK(word.size() == 17);
    CHECK(word.find_first_not_of("x0123456789abcdef") == word.npos);
    CHECK(word != file_word(name + "!"));
  }
}

TEST_CASE("the program's own settings name its job and its node") {
  CHECK(joined_job("kvs_1_0", 0) == "job-kvs_1_0.0");
  CHECK(joined_job("kvs_1_0", 0) != joined_job("kvs_1_0", 1));
  CHECK(joined_job("a", 11) != joined_job("a.1", 1));
}

}  // namespace job_socket_test
