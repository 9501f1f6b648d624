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
using scela::Collective;
using scela::CollectiveCode;
using scela::CollectiveError;
using scela::CollectiveRequest;
using scela::Communicator;
using scela::ReduceOp;
using scela::channel::Channel;
using scela::channel::ChannelError;
using scela::channel::Code;
using scela::channel::kAnySource;
using scela::channel::kAnyTag;
using scela::channel::kWorld;
using scela::channel::Status;
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
  if (!status) failed(cat(what..., ": ", status.error.text()));
}
template <class... Words>
void must(const CollectiveError& error, const Words&... what) {
  if (error) failed(cat(what..., ": ", error.text()));
}
template <class... Words>
void must(const Communicator& made, const Words&... what) {
  if (!made) failed(cat(what..., ": ", made.error().text()));
}

// Requires an error of this kind, about this rank, with these words in it.
template <class Error, class Kind>
void must_say(const Error& error, Kind code, int about, std::string_view words) {
  int rank = -1;
  if constexpr (requires { error.peer; })
    rank = error.peer;
  else
    rank = error.rank;
  const std::string said = cat(name_of(error.code), ", about rank ", rank, ": ", error.text());
  must(error.code == code, "not '", name_of(code), "', but ", said);
  must(rank == about, "not about rank ", about, ", but ", said);
  must(error.text().find(words) != std::string::npos, "without the words '", words, "': ", said);
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
  Communicator over() { return Communicator::over(*channel, options); }
};

inline std::unique_ptr<Channel> opened(bool threads = false) {
  scela::channel::Options options;
  if (threads) options.threads = scela::channel::Threads::multiple;
  auto result = Channel::open(options);
  if (!result.channel) failed(cat("no channel: ", result.error.text()));
  return std::move(result.channel);
}

inline Here open(const std::string& executor, bool threads = false, bool check = false) {
  Here here;
  here.options.check = check;
  if (executor == "thread")
    here.options.run_by = scela::RunBy::thread;
  else if (executor == "once")
    here.options.run_by = scela::RunBy::at_once;
  else if (executor == "engine")
    here.options.run_by = scela::RunBy::engine;
  else
    must(executor == "polled", executor, " is none of polled, thread, once, engine");
  here.channel = opened(threads || executor == "thread");
  here.world = here.over();
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
  CollectiveRequest request = all.start(Collective::allreduce(own, sum, ReduceOp::sum));
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
