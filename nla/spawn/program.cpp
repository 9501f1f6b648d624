// Executes a command on a node through a program such as ssh, rsh, qrsh or kubectl
// (nla/core/tree/start_words.h).

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "nla/core/tree/start_words.h"
#include "nla/spawn/auth_gate.h"
#include "nla/spawn/error_tail.h"
#include "nla/spawn/kinds.h"

namespace scela::nla {

namespace {

// Returns the phase from OpenSSH's messages about a host that cannot be reached. Of other programs
// it is only known that they did not get there.
StartPhase phase_of(std::string_view errors) {
  const auto says = [&](std::string_view words) {
    return errors.find(words) != std::string_view::npos;
  };
  if (says("Could not resolve hostname")) return StartPhase::resolve;
  if (says("Host key verification failed")) return StartPhase::host_key;
  if (says("Permission denied") || says("Too many authentication")) {
    return StartPhase::authenticate;
  }
  return StartPhase::connect;
}

class ProgramSession final : public Executor {
 public:
  ProgramSession(boost::asio::io_context& io, AuthGate& gate, bool root, std::string program,
                 const Contact& contact)
      : io_(io),
        gate_(gate),
        root_(root),
        target_{contact.address, std::nullopt},
        program_(std::move(program)),
        errors_(io) {
    // The address is the host's name without its port, or with the login of --user before it.
    if (contact.address != contact.name && !contact.address.ends_with(cat("@", contact.name)))
      target_.port = contact.port;
  }
  ~ProgramSession() override {
    *alive_ = false;
    leave_gate();
  }

  void execute(const std::string& command, Done done) override {
    command_ = command;
    done_ = std::move(done);
    if (at_gate_ || accepted_) return begin();
    gate_.enter([this, alive = alive_](bool go) {
      if (!*alive) return;
      if (go) {
        at_gate_ = true;
        return begin();
      }
      finish(tl::unexpected(
          SpawnFailure{StartPhase::authenticate, "this node was refused elsewhere", true}));
    });
  }

  void answered() override {
    if (!std::exchange(at_gate_, false)) return;
    accepted_ = true;
    gate_.answer(true);
  }
  void when_ended(const std::function<void()>& handler) override {
    if (status_ >= 0) return handler();
    ended_ = handler;
  }
  void reaped(int status) override {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    // Not now: the caller iterates over the sessions.
    if (ended_) boost::asio::post(io_, std::exchange(ended_, nullptr));
  }
  int exit_status() const override { return status_; }
  // ssh ends with this status if ssh itself, and not the command, has failed.
  bool reached() const override { return accepted_ || status_ != kNotReached; }
  std::string error_output() override { return errors_.text(); }
  pid_t pid() const override { return pid_; }
  std::string described() const override { return cat("'", name_of_start(program_), "'"); }

  // The program may still be on its way to the host, where no end of a stream reaches it.
  void abandon() override {
    if (pid_ > 0 && status_ < 0) ::kill(-pid_, SIGKILL);
  }

  SpawnFailure failure(std::string why) override {
    if (accepted_ || (status_ >= 0 && status_ != kNotReached && root_)) {
      return {StartPhase::start_agent, std::move(why), false};
    }
    const StartPhase phase = phase_of(errors_.text());
    if (root_) return {phase, std::move(why), false};
    if (phase == StartPhase::authenticate && std::exchange(at_gate_, false)) gate_.answer(false);
    // If no agent may log in, or agents have no client, scela-run itself may start it.
    return {phase, std::move(why), status_ >= 0 || pid_ == 0};
  }

 private:
  static constexpr int kNotReached = 255;

  void leave_gate() {
    if (std::exchange(at_gate_, false)) gate_.left();
  }

  void begin() {
    auto made = start();
    boost::asio::post(
        io_, [this, alive = alive_, made = std::make_shared<decltype(made)>(std::move(made))] {
          if (*alive) finish(std::move(*made));
        });
  }

  void finish(tl::expected<std::unique_ptr<Transport>, SpawnFailure> made) {
    if (done_) std::exchange(done_, nullptr)(std::move(made));
  }

  tl::expected<std::unique_ptr<Transport>, SpawnFailure> start() {
    const auto failed = [&](std::string why) {
      return tl::unexpected(SpawnFailure{StartPhase::start_agent, std::move(why), !root_});
    };
    std::vector<std::string> words = start_words(program_, target_, command_);
    if (words.empty()) return failed("--launch names no program");
    const auto program = find_program(words.front(), search_path(), ".");
    if (!program) {
      return failed(cat("find '", words.front(), "': ", errno_text(program.error()),
                        " (install it, or choose another --launch)"));
    }
    Result<SocketPair> stream = make_socket_pair(SOCK_STREAM);
    if (!stream) return failed(stream.error().text());
    Result<Pipe> errors = make_pipe();
    if (!errors) return failed(errors.error().text());
    const int descriptors[] = {stream->theirs.get(), stream->theirs.get(), errors->write.get()};
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    ChildSpec spec;
    spec.program = program->c_str();
    spec.argv = argv.data();
    spec.envp = environ;
    spec.descriptors = descriptors;
    spec.group = ChildGroup::own_session;  // not at a terminal: no ^C, no questions
    spec.keeps_orphans = true;             // its connection sharing is no leftover
    // It may ignore the end of its input. Below an agent, the agent it has started may be adopted.
    spec.ends_with_parent = root_;
    const tl::expected<pid_t, ChildError> pid = start_child(spec);
    if (!pid) return failed(text_of(pid.error(), *program));
    pid_ = *pid;
    status_ = -1;
    errors_.follow(std::move(errors->read));
    return make_fd_transport(io_, std::move(stream->ours));
  }

  static std::string search_path() {
    const char* path = std::getenv("PATH");
    return path == nullptr ? "/usr/bin:/bin" : path;
  }

  boost::asio::io_context& io_;
  AuthGate& gate_;
  const bool root_;
  StartTarget target_;
  const std::string program_;
  std::string command_;
  Done done_;
  ErrorTail errors_;
  std::function<void()> ended_;
  pid_t pid_ = 0;
  int status_ = -1;
  bool at_gate_ = false;   // other sessions wait for its result
  bool accepted_ = false;  // the node has answered
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<Executor> make_program_session(boost::asio::io_context& io, const Contact& contact,
                                               AuthGate& gate, const Settings& settings,
                                               const SpawnContext& context) {
  return std::make_unique<ProgramSession>(io, gate, context.root, settings.launch, contact);
}

}  // namespace scela::nla
