#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "nla/guard/agent_mark.h"
#include "nla/spawn/kinds.h"

namespace scela::nla {

namespace {

class LocalSpawner final : public Spawner {
 public:
  LocalSpawner(boost::asio::io_context& io, std::string agent)
      : io_(io), agent_(std::move(agent)) {}

  void start(const Contact& contact, bool, Begun begun, Done done) override {
    begun();
    done(start_now(contact.name, {}));
  }
  void attach(const Contact& contact, Attach how, Done done) override {
    done(start_now(contact.name, how.words));
  }

 private:
  tl::expected<StartedAgent, SpawnFailure> start_now(const std::string& node,
                                                     const std::vector<std::string>& more) {
    if (!null_) {
      Result<Fd> null = open_file("/dev/null", O_RDWR);
      if (!null) return failure(null.error());
      null_ = std::move(*null);
    }
    Result<SocketPair> pair = make_socket_pair(SOCK_STREAM);
    if (!pair) return failure(pair.error());
    // Standard error is inherited, so that the agent's messages there are not lost.
    const int descriptors[] = {null_.get(), null_.get(), STDERR_FILENO, pair->theirs.get()};
    std::vector<std::string> words = {agent_,      "--link-fd",    "3", "--name", node,
                                      kMarkOption, room_for_mark()};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    ChildSpec spec;
    spec.program = agent_.c_str();
    spec.argv = argv.data();
    spec.envp = environ;
    spec.descriptors = descriptors;
    spec.group = ChildGroup::own_session;
    const tl::expected<pid_t, ChildError> pid = start_child(spec);
    if (!pid) {
      return tl::unexpected(SpawnFailure{StartPhase::start_agent, text_of(pid.error(), agent_)});
    }
    return StartedAgent{make_fd_transport(io_, std::move(pair->ours)), *pid};
  }

  static tl::unexpected<SpawnFailure> failure(const Error& error) {
    return tl::unexpected(SpawnFailure{StartPhase::start_agent, error.text()});
  }

  boost::asio::io_context& io_;
  std::string agent_;
  Fd null_;
};

}  // namespace

std::unique_ptr<Spawner> make_local_spawner(boost::asio::io_context& io, std::string agent) {
  return std::make_unique<LocalSpawner>(io, std::move(agent));
}

}  // namespace scela::nla
