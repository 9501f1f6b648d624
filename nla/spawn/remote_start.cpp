#include "nla/spawn/remote_start.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/random_bytes.h"
#include "nla/core/tree/remote_shell.h"
#include "nla/spawn/error_tail.h"
#include "nla/spawn/phase_timer.h"

namespace scela::nla {

namespace {

using Kind = RemoteAnswer::Kind;

// Bytes of a package on their way at most. sshd keeps in one buffer what the shell has not read
// yet, and copies it each time it grows. With 2 MiB, its usual window, that took 17 of the 67 ms of
// a start with 1.7 MB. With a smaller value a distant host needs more round trips.
constexpr std::size_t kShipAhead = std::size_t{512} * 1024;

// Returns "exit status 3" or "killed by SIGSEGV".
std::string ending(int status) {
  constexpr int kSignal = 128;
  const char* name = status > kSignal ? ::sigabbrev_np(status - kSignal) : nullptr;
  return name != nullptr ? cat("killed by SIG", name) : cat("exit status ", status);
}

class Start final : public RemoteStart, public std::enable_shared_from_this<Start> {
 public:
  Start(boost::asio::io_context& io, Executor& executor, AgentProgram& program, std::string node,
        RemoteStartSettings settings, Executor::Done done)
      : executor_(executor),
        program_(program),
        node_(std::move(node)),
        settings_(std::move(settings)),
        timer_(io),
        done_(std::move(done)) {}

  void begin() override { execute(); }
  void cancel() override {
    executor_.abandon();
    end(tl::unexpected(SpawnFailure{StartPhase::start_agent, "cancelled", false}));
  }

 private:
  // The places at which the command looks for an agent. After a step that has found none that runs,
  // the next one is tried.
  enum class Step : std::uint8_t {
    installed,  // at the path of the installed agent, then in the cache
    cache,      // in the cache
    send,       // nowhere: the agent is sent
  };

  void execute() {
    const AgentFile& file = program_.file;
    const PackageFacts facts = facts_to_send();
    const bool has_cache = facts.size > 0 && program_.use_cache;
    if (step_ == Step::installed && file.remote().empty()) step_ = Step::cache;
    if (step_ == Step::cache && !has_cache) step_ = Step::send;
    const Result<std::string> command = remote_command(
        {step_ == Step::installed ? file.remote() : "",
         file.build(),
         {facts.size, facts.agent_build, facts.digests.sha256, facts.digests.blake2b},
         has_cache && step_ != Step::send,
         program_.use_cache,
         hex_digits(random_bytes(8)),
         settings_.words},
        node_);
    if (!command) return fail_with(command.error().text());
    executor_.execute(*command, [self = shared_from_this()](auto made) {
      if (!self->done_) return;  // cancelled
      if (!made) return self->end(tl::unexpected(std::move(made.error())));
      self->stream_ = std::move(*made);
      self->scanner_ = {};
      self->set_timer();
      self->wait_readable();
    });
  }

  bool sends_leaf() const { return settings_.leaf && program_.package && program_.package->leaf(); }
  // Returns the facts of the package to send; without one, a size of 0.
  PackageFacts facts_to_send() const {
    if (!program_.package) return {};
    if (sends_leaf()) return *program_.package->leaf();
    PackageFacts facts = program_.package->facts();
    facts.digests = program_.digests;
    return facts;
  }

  void set_timer() {
    timer_.begin(settings_.limit, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->fail_with(cat(self->executor_.described(),
                          " has the command, but no agent answers within ",
                          self->settings_.limit.count(), " ms (--connect-timeout)", self->heard()));
    });
  }

  void wait_readable() {
    stream_->wait_readable([self = shared_from_this()] { self->read(); });
  }

  void read() {
    char bytes[4096];
    while (done_ && stream_) {
      const ssize_t got = stream_->read(bytes, sizeof bytes);
      if (got < 0 && errno == EAGAIN) return wait_readable();
      if (got <= 0) {
        return stream_->wait_closed(
            [self = shared_from_this()] { self->executor_.when_ended([self] { self->ended(); }); });
      }
      std::string_view rest(bytes, static_cast<std::size_t>(got));
      if (!take(rest)) return;
    }
  }

  // Returns false if the stream must not be read here any more.
  bool take(std::string_view rest) {
    while (!rest.empty()) {
      const auto answer = scanner_.feed(rest);
      if (!answer) return fail_with(answer.error().text()), false;
      if (!*answer) return true;
      executor_.answered();
      switch ((*answer)->kind) {
        case Kind::ready:
          return ready((*answer)->text, rest), false;
        case Kind::other:
          return again(), false;
        case Kind::ship:
          ship((*answer)->text);
          if (!done_) return false;
          break;
        case Kind::refused:
          return fail_with((*answer)->text), false;
      }
    }
    return true;
  }

  void ready(const std::string& build, std::string_view rest) {
    if (build != program_.file.build() && build != facts_to_send().agent_build)
      return fail_with("the agent that answers is of another build");
    if (!rest.empty()) return fail_with("the agent speaks before it was spoken to");
    timer_.end();
    stream_->limit_ahead(SIZE_MAX);
    end(std::move(stream_));
  }

  // An agent of another version is there, or the file there does not run.
  void again() {
    timer_.end();
    stream_.reset();
    step_ = step_ == Step::installed ? Step::cache : Step::send;
    execute();
  }

  void ship(const std::string& machine) {
    if (machine != program_.file.machine()) {
      return fail_with(cat("its processor is ", machine, ", but this ScELA is built for ",
                           program_.file.machine(),
                           " and starts hosts of that kind only (leave it out)"));
    }
    if (!program_.package) return no_package("no agent is installed there, and");
    AgentPackage& package = *program_.package;
    const std::string& sha256 = program_.digests.sha256;
    Result<Chunk> bytes = sends_leaf() ? package.leaf_bytes(sha256) : package.bytes(sha256);
    if (!bytes) return no_package(cat("no agent is installed there; ", bytes.error().text(), ";"));
    stream_->limit_ahead(kShipAhead);
    to_ship_ = std::move(*bytes);
    shipped_ = 0;
    write();
  }

  // This node cannot send the agent; scela-run can.
  void no_package(const std::string& why) {
    executor_.abandon();
    end(tl::unexpected(
        SpawnFailure{StartPhase::start_agent,
                     cat(why, " there is no ", kPackageName, " to send: install ScELA completely"),
                     program_.hand_back}));
  }

  void write() {
    if (!stream_ || !done_) return;
    while (shipped_ < to_ship_.size()) {
      const std::string_view rest = to_ship_.view().substr(shipped_);
      const iovec part{const_cast<char*>(rest.data()), rest.size()};
      const ssize_t wrote = stream_->write(&part, 1);
      if (wrote < 0 && errno == EAGAIN) {
        return stream_->wait_writable([self = shared_from_this()] {
          self->set_timer();
          self->write();
        });
      }
      if (wrote <= 0) return;  // the reading side learns why
      shipped_ += static_cast<std::size_t>(wrote);
    }
    to_ship_ = {};
    set_timer();
  }

  void ended() {
    if (!done_) return;
    const int status = executor_.exit_status();
    // The agent that is installed there cannot be executed, or dies, or the shell did not
    // understand the command. The agent of this process may do better.
    if (step_ != Step::send && executor_.reached() && status != -1) return again();
    std::string why = cat(executor_.described(), " ended before an agent answered");
    if (status >= 0) why += cat(": ", ending(status));
    if (!stream_->trouble().empty()) why = stream_->trouble();
    fail_with(why + heard());
  }

  // Returns the last output of the other side, as a hint for a person.
  std::string heard() const {
    constexpr std::size_t kShown = 150;
    const std::string error = last_line(executor_.error_output());
    const std::string& said = error.empty() ? scanner_.noise() : error;
    if (said.empty()) return {};
    return cat("; it said: ", said.substr(0, kShown), said.size() > kShown ? "..." : "");
  }

  void fail_with(std::string why) {
    if (!done_) return;
    SpawnFailure failure = executor_.failure(std::move(why));
    executor_.abandon();
    end(tl::unexpected(std::move(failure)));
  }

  void end(tl::expected<std::unique_ptr<Transport>, SpawnFailure> result) {
    timer_.end();
    if (stream_) stream_->close();
    if (done_) std::exchange(done_, nullptr)(std::move(result));
  }

  Executor& executor_;
  AgentProgram& program_;
  const std::string node_;
  const RemoteStartSettings settings_;
  PhaseTimer timer_;
  Executor::Done done_;
  std::unique_ptr<Transport> stream_;
  AnswerScanner scanner_;
  Chunk to_ship_;
  std::size_t shipped_ = 0;
  Step step_ = Step::installed;
};

}  // namespace

std::string last_line(const std::string& text) {
  constexpr std::string_view kEnds = "\r\n ";
  const std::size_t last = text.find_last_not_of(kEnds);
  if (last == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', last) + 1;  // npos + 1 is 0
  return text.substr(begin, last + 1 - begin);
}

std::shared_ptr<RemoteStart> make_remote_start(boost::asio::io_context& io, Executor& executor,
                                               AgentProgram& program, const std::string& node,
                                               RemoteStartSettings settings, Executor::Done done) {
  return std::make_shared<Start>(io, executor, program, node, std::move(settings), std::move(done));
}

}  // namespace scela::nla
