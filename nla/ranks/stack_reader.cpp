#include "nla/ranks/stack_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <cstring>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/process/child.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/core/job/gdb_stacks.h"

namespace scela::nla {

namespace {

// Returns the last process of a chain in which each has one child.
pid_t program_below(pid_t pid) {
  constexpr int kLongestChain = 8;
  for (int i = 0; i < kLongestChain; ++i) {
    const std::vector<pid_t> children = children_of(pid);
    if (children.size() != 1) break;
    pid = children.front();
  }
  return pid;
}

}  // namespace

// One gdb that runs.
struct StackReader::Gdb final : Poller::Watcher {
  Gdb(StackReader& owner, Rank number) : reader(owner), rank(number) {}
  ~Gdb() { kill(); }
  void kill() const {
    if (pid != 0) ::kill(-pid, SIGKILL);
  }
  // Reads what gdb has written. Its end may be hidden for a moment by a process that has the pipe
  // too, so the end of gdb counts, not that of the pipe.
  void ready(bool /*readable*/, bool /*writable*/) override {
    if (!read_some()) output.reset();
  }
  // Returns false at the end of the pipe.
  bool read_some() {
    char bytes[16 * 1024];
    for (;;) {
      const ssize_t got = retry([&] { return ::read(output.get(), bytes, sizeof bytes); });
      if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
      if (got < 0) return true;
      const std::size_t room = kMaxGdbOutput - std::min(kMaxGdbOutput, text.size());
      text.append(bytes, std::min(room, static_cast<std::size_t>(got)));
    }
  }

  StackReader& reader;
  Rank rank;
  pid_t pid = 0;
  Fd output;  // invalid: it has ended
  std::string text;
};

struct StackReader::Timer {
  explicit Timer(boost::asio::io_context& io) : limit(io), turn(io) {}
  boost::asio::steady_timer limit;  // the time for all
  boost::asio::steady_timer turn;   // expires at once: the next turn of the loop
};

StackReader::StackReader(boost::asio::io_context& io, Poller& poller, std::string node,
                         std::deque<std::pair<Rank, pid_t>> ranks, std::uint32_t limit_ms,
                         Done done)
    : io_(io),
      poller_(poller),
      node_(std::move(node)),
      waiting_(std::move(ranks)),
      done_(std::move(done)),
      timer_(std::make_unique<Timer>(io)) {
  const char* const path = ::getenv("PATH");
  if (auto found = find_program("gdb", path == nullptr ? kUsualPath : path, "/")) {
    program_ = std::move(*found);
  }
  timer_->limit.expires_after(std::chrono::milliseconds(limit_ms));
  timer_->limit.async_wait([this](const boost::system::error_code& error) {
    if (!error) finish();
  });
  timer_->turn.expires_after(std::chrono::milliseconds(0));
  timer_->turn.async_wait([this](const boost::system::error_code& error) {
    if (!error) start_more();
  });
}

StackReader::~StackReader() = default;

void StackReader::start_more() {
  while (!waiting_.empty() && running_.size() < kGdbsAtOnce) {
    const auto [rank, pid] = waiting_.front();
    waiting_.pop_front();
    start_one(rank, pid);
  }
  if (waiting_.empty() && running_.empty()) hand_over();
}

void StackReader::start_one(Rank rank, pid_t pid) {
  const auto refuse = [&](std::string_view why) {
    fold_into(stacks_, {RankSet::single(rank), cat("no stack: ", why, "\n")});
  };
  if (program_.empty())
    return refuse(cat("there is no gdb on node ", node_, " (install it there)"));
  auto gdb = std::make_unique<Gdb>(*this, rank);
  Result<Pipe> pipe = make_pipe();
  if (!pipe) return refuse(pipe.error().text());
  Result<Fd> null = open_file("/dev/null", O_RDWR);
  if (!null) return refuse(null.error().text());
  std::vector<std::string> words = gdb_words(static_cast<std::uint32_t>(program_below(pid)));
  const std::vector<char*> argv = argv_of(words);
  const int descriptors[] = {null->get(), pipe->write.get(), pipe->write.get()};
  ChildSpec spec;
  spec.program = program_.c_str();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.directory = "/";
  spec.descriptors = descriptors;
  spec.dies_with_parent = true;
  const auto child = start_child(spec);
  if (!child) return refuse(text_of(child.error(), program_));
  gdb->pid = *child;
  gdb->output = std::move(pipe->read);
  ::fcntl(gdb->output.get(), F_SETFL, O_NONBLOCK);
  poller_.watch(gdb->output.get(), true, false, *gdb);
  running_.push_back(std::move(gdb));
}

bool StackReader::reaped(pid_t pid) {
  const auto at = std::ranges::find_if(running_, [&](const auto& gdb) { return gdb->pid == pid; });
  if (at == running_.end()) return false;
  ended(**at);
  (*at)->pid = 0;
  running_.erase(at);
  start_more();
  return true;
}

void StackReader::ended(Gdb& gdb) {
  if (gdb.output.valid()) gdb.read_some();
  fold_into(stacks_, {RankSet::single(gdb.rank), stacks_text(gdb.text)});
}

// The time is over.
void StackReader::finish() {
  RankSet late;
  for (const auto& gdb : running_)
    late.add(RankSet::single(gdb->rank));
  for (const auto& [rank, pid] : waiting_)
    late.add(RankSet::single(rank));
  running_.clear();
  waiting_.clear();
  fold_into(stacks_, {late, cat("no stack: gdb on node ", node_, " took too long\n")});
  hand_over();
}

void StackReader::hand_over() {
  timer_->limit.cancel();
  const Done done = std::move(done_);
  if (done) done(std::move(stacks_));
}

}  // namespace scela::nla
