// Each rank says how many queue pairs of its adapter it has after allgathers by the engine, as the
// adapter's own status says.
//
//   offload_qps ALGORITHM BYTES ROUNDS
#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

std::string status_of_adapter() {
  FILE* pipe = ::popen("scela-hca --status --json", "r");  // NOLINT(cert-env33-c): found by PATH
  must(pipe != nullptr, "scela-hca cannot be started");
  std::string text;
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, got);
  must(::pclose(pipe) == 0, "scela-hca --status fails");
  return text;
}

// Returns the number of this process's queue pairs, from the list that the status ends with. The
// process is there once for each context that it has opened.
long queue_pairs(const std::string& text) {
  const std::string own = cat("\"pid\": ", ::getpid(), ",");
  const std::string_view kind = "\"rc\": ";
  long most = -1;
  for (auto at = text.find(own, text.find("\"processes\"")); at != std::string::npos;
       at = text.find(own, at + 1)) {
    const auto pairs = text.find(kind, at);
    must(pairs != std::string::npos, "the status names no queue pairs");
    most = std::max(most, std::strtol(text.c_str() + pairs + kind.size(), nullptr, 10));
  }
  must(most >= 0, "the status does not name this process");
  return most;
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string algorithm = argument(argc, argv, 1, "-");
  const auto count = static_cast<std::size_t>(number(argc, argv, 2, 8192)) / 8;
  Here here = open("engine");
  std::vector<std::uint64_t> own(count), got(count * static_cast<std::size_t>(here.size()));
  for (long i = 0; i < number(argc, argv, 3, 5); ++i) {
    Collective gather = Collective::allgather(own, got);
    must(here.world.run(gather.algorithm(algorithm)), "round ", i);
  }
  // The ranks meet by the channel, so that the engine makes no further queue pairs.
  int word = 0;
  const auto all_meet = [&] {
    for (int rank = 1; rank < here.size(); ++rank) {
      if (here.rank() == rank) must(here.channel->send(0, 1, bytes_of(word)), "all are here");
      if (here.rank() == 0)
        must(here.channel->recv(rank, 1, bytes_of(word), kWorld, kLimit), "all are here");
    }
    for (int rank = 1; rank < here.size(); ++rank) {
      if (here.rank() == 0) must(here.channel->send(rank, 2, bytes_of(word)), "all go on");
      if (here.rank() == rank)
        must(here.channel->recv(0, 2, bytes_of(word), kWorld, kLimit), "all go on");
    }
  };
  all_meet();
  say(here.rank(), cat(queue_pairs(status_of_adapter()), " queue pairs by ", algorithm));
  all_meet();
  return 0;
}
