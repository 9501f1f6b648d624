#include "nla/spawn/factory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"
#include "nla/spawn/auth_gate.h"
#include "nla/spawn/dialed_agents.h"
#include "nla/spawn/kinds.h"

namespace scela::nla {

namespace {

class AnySpawner final : public Spawner {
 public:
  AnySpawner(boost::asio::io_context& io, SpawnContext context, const Settings& settings)
      : io_(io),
        context_(std::move(context)),
        settings_(settings),
        gate_(!context_.root),
        local_(make_local_spawner(io, context_.agent)),
        waiting_agents_(io, context_) {}

  void start(const Contact& contact, bool leaf, Begun begun, Done done) override {
    if (refused(contact, done)) return;
    if (contact.here()) return local_->start(contact, leaf, std::move(begun), std::move(done));
    if (contact.waits) {
      begun();
      return waiting_agents_.connect(contact, dial_link_key(context_.dial_secret, contact.user),
                                     settings_.connect_ms, std::move(done));
    }
    wait({contact, {{}, settings_.connect_ms, {}}, leaf, std::move(begun), std::move(done)});
  }

  void attach(const Contact& contact, Attach how, Done done) override {
    if (refused(contact, done)) return;
    if (contact.here()) return local_->attach(contact, std::move(how), std::move(done));
    if (contact.waits) {
      const std::uint32_t limit_ms = std::min(settings_.connect_ms, how.limit_ms);
      return waiting_agents_.connect(contact, std::move(how.key), limit_ms, std::move(done));
    }
    wait({contact, std::move(how), false, [] {}, std::move(done)});
  }

  void cancel(const std::string& name) override {
    waiting_agents_.cancel(name);
    const auto waits = std::ranges::find(
        waiting_, name, [](const auto& one) -> const auto& { return one.contact.name; });
    if (waits != waiting_.end()) {
      const Done done = std::move(waits->done);
      waiting_.erase(waits);
      return done(tl::unexpected(SpawnFailure{StartPhase::connect, "cancelled", false}));
    }
    for (const UnderWay& one : std::vector(sessions_)) {
      if (one.node == name) one.start->cancel();
    }
  }

  void reaped(pid_t pid, int status) override {
    for (const UnderWay& one : sessions_) {
      if (one.session->pid() == pid) one.session->reaped(status);
    }
  }

  std::vector<pid_t> sessions() const override {
    std::vector<pid_t> out;
    if (context_.bulk_starters) out = context_.bulk_starters();
    for (const UnderWay& one : sessions_) {
      if (one.session->pid() != 0) out.push_back(one.session->pid());
    }
    return out;
  }

 private:
  struct Waiting {
    Contact contact;
    Attach how;
    bool leaf = false;
    Begun begun;
    Done done;
  };

  // For an agent the launcher's own host, which has no address, is another machine too.
  bool refused(const Contact& contact, const Done& done) const {
    const char* why = nullptr;
    if (contact.root_only && !context_.root) why = "only scela-run itself knows a way to it";
    if (!contact.here() && !context_.network && settings_.launch == kLaunchSsh)
      why = "the agent that was to start it has no ssh";
    const auto known = context_.unreachable.find(contact.name);
    if (known != context_.unreachable.end()) why = known->second.c_str();
    if (why == nullptr) return false;
    done(tl::unexpected(SpawnFailure{StartPhase::connect, why, !context_.root}));
    return true;
  }

  void wait(Waiting one) {
    waiting_.push_back(std::move(one));
    start_waiting();
  }

  // Starts waiting nodes while fewer than settings_.fanout sessions are under way.
  void start_waiting() {
    while (!waiting_.empty() && under_way_ < settings_.fanout) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      ++under_way_;
      next.begun();
      start_remote(next.contact, std::move(next.how), next.leaf, std::move(next.done));
    }
  }

  void start_remote(const Contact& contact, Attach how, bool leaf, Done done) {
    if (auto opened = open_program(); !opened) {
      --under_way_;
      return done(
          tl::unexpected(SpawnFailure{StartPhase::start_agent, opened.error().text(), false}));
    }
    Settings settings = settings_;
    settings.connect_ms = std::min(settings.connect_ms, how.limit_ms);
    const std::shared_ptr<Executor> session = make_session(contact, settings);
    const auto start = make_remote_start(
        io_, *session, *program_, contact.name,
        {std::chrono::milliseconds(settings.connect_ms), std::move(how.words),
         leaf && settings_.leaf_agents},
        [this, session = session.get(), done = std::move(done)](auto stream) {
          const auto at = std::ranges::find(sessions_, session,
                                            [](const UnderWay& one) { return one.session.get(); });
          const UnderWay over = std::move(*at);
          sessions_.erase(at);
          --under_way_;
          // Not now: both are in the middle of a call.
          boost::asio::post(io_, [over] {});
          if (stream) {
            const bool ended = over.session->exit_status() >= 0;
            done(StartedAgent{std::move(*stream), over.session->pid(), ended});
          } else {
            done(tl::unexpected(std::move(stream.error())));
          }
          start_waiting();
        });
    sessions_.push_back({contact.name, session, start});
    start->begin();
  }

  // Opens the agent's files once for all nodes.
  Result<void> open_program() {
    if (program_) return {};
    Result<AgentFile> file = AgentFile::open(context_.agent, settings_.agent);
    if (!file) return fail(file.error());
    program_ = std::make_unique<AgentProgram>(AgentProgram{std::move(*file), std::nullopt,
                                                           Digests::parse(settings_.package),
                                                           settings_.agent_cache, !context_.root});
    auto package =
        context_.package >= 0
            ? AgentPackage::open(Fd(::fcntl(context_.package, F_DUPFD_CLOEXEC, 3)), kPackageName)
            : find_package(context_.agent, program_->file.build());
    if (package && package->facts().agent_build == program_->file.build()) {
      package->choose(program_->digests.sha256);
      program_->package = std::move(*package);
    }
    return {};
  }

  std::unique_ptr<Executor> make_session(const Contact& contact, const Settings& settings) {
    if (settings.launch != kLaunchSsh) {
      return make_program_session(io_, contact, gate_, settings, context_);
    }
    if (!ssh_) ssh_ = context_.network->make_ssh_sessions(io_);
    return ssh_->make(contact, gate_, settings, context_);
  }

  boost::asio::io_context& io_;
  const SpawnContext context_;
  const Settings settings_;
  AuthGate gate_;
  std::unique_ptr<Spawner> local_;
  DialedAgents waiting_agents_;
  std::unique_ptr<AgentProgram> program_;
  std::unique_ptr<SshSessions> ssh_;
  std::deque<Waiting> waiting_;
  struct UnderWay {
    std::string node;
    std::shared_ptr<Executor> session;
    std::shared_ptr<RemoteStart> start;
  };
  std::vector<UnderWay> sessions_;
  std::uint32_t under_way_ = 0;
};

}  // namespace

std::unique_ptr<Spawner> make_spawner(boost::asio::io_context& io, SpawnContext context,
                                      const Settings& settings) {
  return std::make_unique<AnySpawner>(io, std::move(context), settings);
}

Result<std::string> find_agent(const std::string& wanted, bool elsewhere) {
  const std::string own = own_executable();
  const std::string folder = own.substr(0, own.rfind('/'));
  const std::string places[] = {wanted, folder + "/scela-nla",
                                folder + "/../libexec/scela/scela-nla"};
  std::string tried;
  for (const std::string& place : places) {
    if (place.empty()) continue;
    if (::access(place.c_str(), X_OK) == 0) return place;
    tried += cat(tried.empty() ? "" : ", ", place);
    if (&place == &places[0] && !elsewhere) break;  // the option names the only place
  }
  return fail(Error{ErrorKind::launch,
                    "find the agent scela-nla",
                    {},
                    cat("not at ", tried),
                    "install ScELA completely, or name the agent with --agent or in SCELA_AGENT"});
}

}  // namespace scela::nla
