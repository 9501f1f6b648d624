#include "nla/io/agent_file.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "common/core/text.h"

namespace agent_file_test {

using namespace scela;
using namespace scela::nla;

TEST_CASE("an executable is known by its build id and its machine") {
  Result<AgentFile> file = AgentFile::open("/proc/self/exe", "/opt/there");
  REQUIRE(file);
  CHECK(file->build().size() == 40);
  CHECK(file->build().find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(file->remote() == "/opt/there");
  utsname names{};
  ::uname(&names);
  CHECK(file->machine() == names.machine);
}

TEST_CASE("a file that is no executable with a build id is no agent") {
  const std::string path = cat("/tmp/scela-agent-file-test-", ::getpid());
  for (const std::string& content : {std::string(), std::string("#!/bin/sh\n"),
                                     std::string("\x7f"
                                                 "ELF\x02\x01\x01"),
                                     std::string("\x7f"
                                                 "ELF\x02") +
                                         std::string(200, '\xff')}) {
    std::ofstream(path) << content;
    const Result<AgentFile> file = AgentFile::open(path, "");
    REQUIRE_FALSE(file);
    CHECK(file.error().hint.find("--agent") != std::string::npos);
  }
  ::unlink(path.c_str());
  CHECK_FALSE(AgentFile::open(path, ""));
}

}  // namespace agent_file_test
