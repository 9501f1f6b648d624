// A command on a node through a program such as ssh or rsh: PROGRAM WORDS... HOST COMMAND.

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/child.h"
#include "common/os/syscall.h"
#include "nla/spawn/kinds.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr std::size_t kErrorTail = 2048;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

class ProgramSession final : public Executor {
 public:
  ProgramSession(boost::asio::io_context& io, std::vector<std::string> words)
      : io_(io), words_(std::move(words)), errors_(io) {}

  void execute(const std::string& command, Done done) override {
    auto made = start(command);
    boost::asio::post(io_, [made = std::make_shared<decltype(made)>(std::move(made)),
                            done = std::move(done)] { done(std::move(*made)); });
  }
  void reaped(int status) override {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // The program may still be on its way to the host, where no end of a stream reaches it.
  void cancel() override {
    if (pid_ != 0 && status_ < 0) ::kill(pid_, SIGTERM);
  }
  int exit_status() const override { return status_; }
  std::string error_output() const override { return error_tail_; }
  pid_t pid() const override { return pid_; }

 private:
  tl::expected<std::unique_ptr<Transport>, SpawnFailure> start(const std::string& command) {
    const auto failed = [&](std::string why) {
      return tl::unexpected(SpawnFailure{StartPhase::start_agent, std::move(why), false});
    };
    const auto program = find_program(words_.front(), search_path(), ".");
    if (!program) return failed(cat("find '", words_.front(), "': ", errno_text(program.error())));
    Result<SocketPair> stream = make_socket_pair(SOCK_STREAM);
    if (!stream) return failed(stream.error().text());
    Result<Pipe> errors = make_pipe();
    if (!errors) return failed(errors.error().text());
    const int descriptors[] = {stream->theirs.get(), stream->theirs.get(), errors->write.get()};
    std::vector<char*> argv;
    for (std::string& word : words_)
      argv.push_back(word.data());
    std::string last = command;
    argv.push_back(last.data());
    argv.push_back(nullptr);
    ChildSpec spec;
    spec.program = program->c_str();
    spec.argv = argv.data();
    spec.envp = environ;
    spec.descriptors = descriptors;
    spec.group = ChildGroup::own_session;  // it asks nothing at a terminal, and no ^C reaches it
    const tl::expected<pid_t, ChildError> pid = start_child(spec);
    if (!pid) return failed(text_of(pid.error(), *program));
    pid_ = *pid;
    status_ = -1;
    error_code ignored;
    errors_.close(ignored);
    set_nonblocking(errors->read.get());
    errors_.assign(errors->read.release());
    read_errors();
    return make_fd_transport(io_, std::move(stream->ours));
  }

  static std::string search_path() {
    const char* path = std::getenv("PATH");
    return path == nullptr ? "/usr/bin:/bin" : path;
  }

  void read_errors() {
    errors_.async_wait(Descriptor::wait_read, [this](const error_code& error) {
      if (error) return;
      char bytes[512];
      const ssize_t got =
          retry([&] { return ::read(errors_.native_handle(), bytes, sizeof bytes); });
      if (got == 0 || (got < 0 && errno != EAGAIN)) return;
      if (got > 0) error_tail_.append(bytes, static_cast<std::size_t>(got));
      if (error_tail_.size() > 2 * kErrorTail) {
        error_tail_.erase(0, error_tail_.size() - kErrorTail);
      }
      read_errors();
    });
  }

  boost::asio::io_context& io_;
  std::vector<std::string> words_;
  Descriptor errors_;
  std::string error_tail_;
  pid_t pid_ = 0;
  int status_ = -1;
};

}  // namespace

std::unique_ptr<Executor> make_program_session(boost::asio::io_context& io, const Contact& contact,
                                               const Settings& settings) {
  std::vector<std::string> words = words_of(settings.launch);
  words.push_back(contact.name);
  return std::make_unique<ProgramSession>(io, std::move(words));
}

}  // namespace scela::nla
