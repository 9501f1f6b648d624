// Measures what memory a node's PMIx server takes for a large job, of which it has 16 ranks, and
// how long it takes until those may start: for 16 to 10,000 ranks.
//
//   pmix_memory build-release/bin/scela-pmix
//
// The program plays the server's agent. It prints one line for each size: ranks, resident MiB of
// the server, seconds.
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "common/core/text.h"
#include "common/os/memory.h"
#include "common/os/private_dir.h"
#include "pmix/core/pmix_messages.h"

namespace {

using namespace scela;

constexpr std::uint32_t kOfNode = 16;

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// Waits until the server is ready. Returns false if the server ends before.
bool wait_ready(int fd) {
  pmix::Decoder decoder;
  for (;;) {
    Result<std::optional<pmix::Message>> message = decoder.next();
    if (!message) return false;
    if (*message) {
      if (std::holds_alternative<pmix::msg::Ready>(**message)) return true;
      continue;
    }
    char bytes[64 * 1024];
    const ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got <= 0) return false;
    decoder.feed({bytes, static_cast<std::size_t>(got)});
  }
}

void measure(const char* program, std::uint32_t ranks) {
  char base[] = "/tmp/scela-pmix-memory-XXXXXX";
  if (::mkdtemp(base) == nullptr) return;
  pmix::msg::Setup setup;
  setup.job = "memory";
  setup.directory = cat(base, "/own");
  setup.rank_directory = cat(base, "/ranks");
  static_cast<void>(make_private_directory(setup.directory));
  static_cast<void>(make_private_directory(setup.rank_directory));
  pmix::msg::World world;
  world.nspace = "memory";
  RankMap map;
  for (std::uint32_t node = 0; node < ranks / kOfNode; ++node) {
    setup.hosts.push_back(cat("node", node));
    map.append(node, kOfNode);
  }
  world.map = map.blocks();
  world.universe = ranks;
  world.programs.push_back({RankSet::run(0, ranks), "program", "/"});

  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  const auto began = std::chrono::steady_clock::now();
  const pid_t server = ::fork();
  if (server == 0) {
    ::close(ends[0]);
    ::dup2(ends[1], pmix::kAgentDescriptor);
    ::execl(program, program, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  write_all(ends[0], encode(pmix::Message(setup)));
  write_all(ends[0], encode(pmix::Message(world)));
  if (wait_ready(ends[0])) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%6u ranks  %7.1f MiB  %6.2f s\n", ranks,
                static_cast<double>(memory_use(server).resident_bytes) / (1 << 20), took.count());
  }
  std::fflush(stdout);
  ::close(ends[0]);
  ::waitpid(server, nullptr, 0);
  static_cast<void>(remove_tree(base));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: pmix_memory PROGRAM (scela-pmix)\n", stderr);
    return 64;
  }
  for (const std::uint32_t ranks : {16U, 160U, 1600U, 10'000U})
    measure(argv[1], ranks);
}
