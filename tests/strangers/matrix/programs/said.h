// Common parts of the programs of the matrix. Each rank says in one line how it ended. Errors are
// written behind "WRONG", and end the rank with status 3. Only the installed headers of libscela
// are used.
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <scela/channel.h>
#include <scela/communicator.h>

namespace matrix {

using namespace std::chrono_literals;
using scela::Channel;
using scela::Code;
using scela::Collective;
using scela::Communicator;
using scela::kAnySource;
using scela::kAnyTag;
using scela::kWorld;
using scela::ReduceOp;
using scela::Request;
using scela::Status;
using Bytes = std::vector<std::byte>;
using Numbers = std::vector<int>;

constexpr auto kLimit = 45s;    // only a hang takes it
constexpr auto kShort = 300ms;  // for what is to go on beyond a limit

template <class... Words>
std::string cat(const Words&... words) {
  std::ostringstream text;
  (text << ... << words);
  return text.str();
}

// Writes a line at once, so that no other rank's comes between.
inline void say(int rank, const std::string& text) {
  const std::string line = cat("rank ", rank, ": ", text, "\n");
  std::fflush(stdout);
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(4);
}
[[noreturn]] inline void failed(const std::string& what) {
  const std::string line = cat("WRONG: ", what, "\n");
  std::fflush(stdout);
  std::_Exit(::write(STDERR_FILENO, line.data(), line.size()) < 0 ? 4 : 3);
}
// The words of a failure are put together only if there is one.
template <class... Words>
void must(bool holds, const Words&... what) {
  if (!holds) failed(cat(what...));
}
template <class... Words>
void must(const Status& status, const Words&... what) {
  if (!status.ok()) failed(cat(what..., ": ", status.message()));
}
template <class... Words>
void must(const Communicator& made, const Words&... what) {
  if (!made) failed(cat(what..., ": ", made.status().message()));
}

// Requires an error with this code, about this rank, with these words in its message.
inline void must_say(const Status& status, Code code, int about, std::string_view words) {
  const std::string said =
      cat(name_of(status.code()), ", about rank ", status.rank(), ": ", status.message());
  must(status.code() == code, "not '", name_of(code), "', but ", said);
  must(status.rank() == about, "not about rank ", about, ", but ", said);
  must(status.message().find(words) != std::string::npos, "without the words '", words,
       "': ", said);
}

inline std::string argument(int argc, char** argv, int index, std::string_view otherwise) {
  return index < argc ? std::string(argv[index]) : std::string(otherwise);
}
inline long number(int argc, char** argv, int index, long otherwise) {
  return index < argc ? std::strtol(argv[index], nullptr, 0) : otherwise;
}

// The channel, and a communicator of all ranks that EXECUTOR runs: polled, thread, once, engine.
struct Here {
  std::unique_ptr<Channel> channel;
  scela::CommunicatorOptions options;
  Communicator world;

  int rank() const { return channel->rank(); }
  int size() const { return channel->size(); }
  Communicator new_world() { return Communicator::world(*channel, options); }
};

inline std::unique_ptr<Channel> opened(bool threads = false) {
  scela::ChannelOptions options;
  if (threads) options.threads = scela::Threads::multiple;
  auto result = Channel::open(options);
  if (!result.channel) failed(cat("no channel: ", result.status.message()));
  return std::move(result.channel);
}

inline Here open(const std::string& executor, bool threads = false, bool check = false) {
  Here here;
  here.options.check = check;
  if (executor == "thread")
    here.options.progress = scela::ProgressMode::thread;
  else if (executor == "once")
    here.options.progress = scela::ProgressMode::at_once;
  else if (executor == "engine")
    here.options.progress = scela::ProgressMode::engine;
  else
    must(executor == "polled", executor, " is none of polled, thread, once, engine");
  here.channel = opened(threads || executor == "thread");
  here.world = here.new_world();
  must(here.world, "no communicator of all ranks");
  return here;
}

inline std::span<std::byte> bytes_of(auto& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Runs a sum over all ranks, which must be right.
inline void still_works(Communicator& all, std::string_view what) {
  const Numbers own{all.rank() + 1};
  Numbers sum(1);
  Request request = all.start(Collective::allreduce(own, sum, ReduceOp::sum));
  must(request.wait(kLimit), what);
  must(sum[0] == all.size() * (all.size() + 1) / 2, what, ": another sum, ", sum[0]);
}

// Returns true if a process of this machine is stopped. Only a defect prevents that for ever.
inline bool is_stopped(pid_t process) {
  std::ifstream file(cat("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  return end != std::string::npos && line.size() > end + 2 && line[end + 2] == 'T';
}
inline void await_stop(pid_t process) {
  const auto enough = std::chrono::steady_clock::now() + kLimit;
  while (!is_stopped(process)) {
    must(std::chrono::steady_clock::now() < enough, "the other rank does not stop");
    std::this_thread::yield();
  }
}

}  // namespace matrix
