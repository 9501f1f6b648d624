// Messages to programs about their environment, and about an engine that does not begin. Also the
// places where engines run and listen.
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <utility>

#include "common/core/text.h"
#include "hca/include/scela/hca_job.h"
#include "tests/e2e/hca/verbs_program.h"

namespace settings_test {

using namespace scela;
using namespace scela::test;

namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

// Runs `act` in a process with these variables. Returns what it writes to its standard error, and
// behind that "ok" if `act` returned true.
std::string said_by(const Variables& variables, const std::function<bool()>& act) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    for (const auto& [name, value] : variables)
      ::setenv(name, value, 1);
    if (act()) static_cast<void>(!::write(STDERR_FILENO, "ok", 2));
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  return text;
}

ibv_context* open_device() {
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_context* const opened = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  return opened;
}

bool opens_twice() {
  return open_device() != nullptr && open_device() != nullptr;
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size())
    ++count;
  return count;
}

std::string line_of(const std::string& file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) return line;
  return {};
}

// Returns the process at the other end of the context's connection.
pid_t engine_of(ibv_context* context) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(context->cmd_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

bool joins(int expected, const char* address = nullptr) {
  scela_hca_job job{};
  job.name = "settings";
  job.nodes = 1;
  job.address = address;
  job.key[0] = 1;
  return scela_hca_join(&job) == expected;
}

bool is_at(const char* address) {
  ibv_context* const opened = open_device();
  ibv_gid gid{};
  if (opened == nullptr || ibv_query_gid(opened, 1, 0, &gid) != 0) return false;
  in_addr number{};
  return ::inet_pton(AF_INET, address, &number) == 1 &&
         std::memcmp(&gid.raw[8], &number, sizeof number) == 0;
}

}  // namespace

TEST_CASE("hca settings: a variable that comes too late is said to do nothing, once") {
  const Place place;
  ::setenv("SCELA_HCA_STRICT", "7", 1);
  const Verbs verbs;  // its engine goes on
  for (const auto& [name, value] : Variables{
           {"SCELA_HCA_ENCRYPT", "yes"}, {"SCELA_HCA_STRICT", "8"}, {"SCELA_HCA_FAULTS", "x"}}) {
    const std::string said = said_by({{name, value}}, opens_twice);
    INFO(said);
    CHECK(count_of(said, cat(name, "=", value, " does nothing here")) == 1);
    CHECK(said.ends_with("\nok"));
  }
  CHECK(said_by({{"SCELA_HCA_ENCRYPT", "no"}, {"SCELA_HCA_FAULTS", ""}}, opens_twice) == "ok");
  ::unsetenv("SCELA_HCA_STRICT");
  CHECK(said_by({}, opens_twice) == "ok");
}

TEST_CASE("hca settings: an unknown name is reported, once") {
  const Place place;
  const std::string said = said_by({{"SCELA_HCA_ENCRIPT", "yes"}}, opens_twice);
  INFO(said);
  CHECK(count_of(said, "libscela-ibverbs: the variable SCELA_HCA_ENCRIPT means nothing") == 1);
  CHECK(said.ends_with("\nok"));
}

TEST_CASE("hca settings: a process that starts an engine in vain is told the reason") {
  const Place place;
  const auto fails = [] { return open_device() == nullptr; };
  for (const auto& [variables, why] : std::vector<std::pair<Variables, const char*>>{
           {{{"SCELA_HCA", "/nowhere/scela-hca"}},
            "/nowhere/scela-hca cannot be executed: No such file"},
           {{{"SCELA_HCA", "/bin/false"}}, "/bin/false ended before programs could connect"},
           {{{"SCELA_HCA_FAULTS", "nonsense"}}, "read SCELA_HCA_FAULTS: 'nonsense' is no fault"},
           {{{"SCELA_HCA_ENCRYPT", "maybe"}}, "'maybe' is neither yes, 1, no nor 0"}}) {
    const std::string said = said_by(variables, fails);
    INFO(said);
    CHECK(said.find("libscela-ibverbs: cannot open scela_hca0: ") == 0);
    CHECK(said.find(why) != std::string::npos);
    CHECK(said.ends_with("\nok"));
  }
  // Messages of earlier engines are not given as the reason.
  CHECK(said_by({{"SCELA_HCA", "/bin/false"}}, fails).find("maybe") == std::string::npos);
}

TEST_CASE("hca settings: an engine that is named from the current directory begins in another") {
  const Place place;
  const std::string program = SCELA_HCA_PATH;
  const std::size_t slash = program.rfind('/');
  CHECK(said_by({{"SCELA_HCA", program.c_str() + slash + 1}}, [&] {
          return ::chdir(program.substr(0, slash).c_str()) == 0 && opens_twice();
        }) == "ok");
}

TEST_CASE("hca settings: an engine may run on all processors, wherever its program is bound") {
  const Place place;
  const std::string said = said_by({}, [] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) return false;
    ibv_context* const opened = open_device();
    if (opened == nullptr) return false;
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    if (::sched_setaffinity(0, sizeof all, &all) != 0) return false;
    const std::string mine = line_of("/proc/self/status", "Cpus_allowed_list:");
    const pid_t engine = engine_of(opened);
    return !mine.empty() && mine == line_of(cat("/proc/", engine, "/status"), "Cpus_allowed_list:");
  });
  CHECK(said == "ok");
}

TEST_CASE("hca settings: a node is reached at the address or interface that is said") {
  const Place place;
  CHECK(said_by({}, [] { return joins(0, "127.0.0.2") && is_at("127.0.0.2"); }) == "ok");
}

TEST_CASE("hca settings: a user may name the address where the program does not") {
  const Place place;
  const bool by_name = GENERATE(true, false);
  CHECK(said_by({{"SCELA_HCA_ADDRESS", by_name ? "lo" : "127.0.0.1"}},
                [] { return joins(0) && is_at("127.0.0.1"); }) == "ok");
}

TEST_CASE("hca settings: a malformed address is refused, with the source that named it") {
  const Place place;
  for (const char* wrong : {"", "0.0.0.0", "nosuch0", "::1", "192.0.2.300"}) {
    const std::string said =
        said_by({{"SCELA_HCA_ADDRESS", "lo"}}, [&] { return joins(EINVAL, wrong); });
    INFO(said);
    CHECK(said.find(cat("the address: '", wrong, "' is no IPv4 address")) != std::string::npos);
    CHECK(said.ends_with("\nok"));
  }
  const std::string said =
      said_by({{"SCELA_HCA_ADDRESS", "nosuch0"}}, [] { return joins(EINVAL); });
  CHECK(said.find("SCELA_HCA_ADDRESS: 'nosuch0' is no IPv4 address") != std::string::npos);
}

}  // namespace settings_test
