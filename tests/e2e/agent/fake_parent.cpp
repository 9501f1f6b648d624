#include "tests/e2e/agent/fake_parent.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/private_dir.h"
#include "common/os/process/child.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/core/wire/link_frames.h"
#include "nla/keys/node_keys.h"
#include "tests/support/eventually.h"

namespace scela::test {

namespace {

template <class F>
void for_each_entry(const std::string& directory, F&& f) {
  DIR* listing = ::opendir(directory.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing))
    f(std::string(entry->d_name));
  ::closedir(listing);
}

bool alive(pid_t pid) {
  ProcessFacts facts;
  return pid > 0 && facts_of(pid, facts) && facts.state != 'Z' && facts.state != 'X';
}

std::string program_of(pid_t pid) {
  char path[4096];
  const ssize_t length = ::readlink(cat("/proc/", pid, "/exe").c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

FakeParent::FakeParent(Parentage parentage, std::uint32_t grace_ms)
    : grace_ms_(grace_ms), is_child_(parentage == Parentage::child) {
  static int count = 0;
  job_id_ = cat("test", ::getpid(), "x", count++);
  Result<SocketPair> pair = make_socket_pair(SOCK_STREAM);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int descriptors[] = {null.get(), null.get(), 2, pair->theirs.get()};
  // Agents and guardians carry it too, which is how processes() finds them.
  std::string mark = cat("SCELA_TEST_JOB=", job_id_);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(mark.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = {SCELA_AGENT_PATH, "--link-fd", "3", "--name", "node0"};
  if (!is_child_) {
    // The shell in the middle ends before the agent runs.
    words = {"/bin/sh", "-c", "setsid \"$0\" --link-fd 3 --name node0 & exit 0", SCELA_AGENT_PATH};
  }
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  ChildSpec spec;
  spec.program = argv.front();
  spec.argv = argv.data();
  spec.envp = environment.data();
  spec.descriptors = descriptors;
  spec.group = ChildGroup::own_session;
  guardian_ = start_child(spec).value_or(0);
  link_ = std::move(pair->ours);
  if (is_child_) return;
  ::waitpid(guardian_, nullptr, 0);
  guardian_ = 0;
  eventually([&] {
    for (const pid_t pid : processes()) {
      ProcessFacts facts;
      const bool leads = facts_of(pid, facts) && facts.session == pid;
      if (!leads || !program_of(pid).ends_with("/scela-nla")) continue;
      if (!program_of(facts.parent).ends_with("/scela-nla")) guardian_ = pid;  // else the agent
    }
    return guardian_ != 0;
  });
}

FakeParent::~FakeParent() {
  link_.reset();
  for (const pid_t pid : processes())
    ::kill(pid, SIGKILL);
  if (is_child_ && guardian_ > 0) ::waitpid(guardian_, nullptr, 0);
  for (const std::string& directory : directories())
    static_cast<void>(remove_tree(directory));
}

pid_t FakeParent::agent() const {
  pid_t found = 0;
  eventually([&] {
    const std::vector<pid_t> children = children_of(guardian_);
    if (!children.empty()) found = children.front();
    return found != 0;
  });
  return found;
}

pid_t FakeParent::child_guardian() const {
  for (const pid_t pid : children_of(agent())) {
    if (program_of(pid).ends_with("/scela-nla")) return pid;
  }
  return 0;
}

std::vector<pid_t> FakeParent::ranks() const {
  std::vector<pid_t> found;
  for (const pid_t pid : children_of(agent())) {
    if (!program_of(pid).ends_with("/scela-nla")) found.push_back(pid);
  }
  return found;
}

void FakeParent::send(const nla::Message& message) {
  const nla::Encoded bytes = nla::encode(message);
  send_raw(cat(bytes.head, bytes.tail.view()));
}

void FakeParent::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::send(link_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

bool FakeParent::saw(std::string_view name) const {
  return std::ranges::find(seen_, name) != seen_.end();
}

bool FakeParent::read_more(std::uint64_t deadline_ns) {
  const std::uint64_t now = monotonic_ns();
  if (ended_ || !link_ || now >= deadline_ns) return false;
  pollfd asked{link_.get(), POLLIN, 0};
  if (::poll(&asked, 1, static_cast<int>((deadline_ns - now) / 1'000'000 + 1)) <= 0) return true;
  static char buffer[64 * 1024];
  const ssize_t got = ::recv(link_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0) decoder_.feed({buffer, static_cast<std::size_t>(got)});
  if (got == 0 || (got < 0 && errno != EAGAIN)) ended_ = true;
  return true;
}

std::optional<nla::Message> FakeParent::take(
    const std::function<bool(const nla::Message&)>& wanted) {
  const std::uint64_t deadline = monotonic_ns() + kFailureGuardMs * 1'000'000;
  for (std::size_t at = 0;;) {
    for (; at < inbox_.size(); ++at) {
      if (!wanted(inbox_[at])) continue;
      nla::Message found = std::move(inbox_[at]);
      inbox_.erase(inbox_.begin() + static_cast<std::ptrdiff_t>(at));
      return found;
    }
    Result<std::optional<Frame>> frame = decoder_.next();
    if (!frame) return std::nullopt;
    if (!*frame) {
      if (!read_more(deadline)) return std::nullopt;
      continue;
    }
    if (nla::is_link_frame((*frame)->kind)) {
      link_frames_.push_back(std::move(**frame));
      continue;
    }
    Result<nla::Message> message = nla::decode(std::move(**frame));
    if (!message) return std::nullopt;
    seen_.emplace_back(nla::name_of(*message));
    inbox_.push_back(std::move(*message));
  }
}

std::optional<Frame> FakeParent::expect_link_frame(nla::LinkFrame kind) {
  const std::uint64_t deadline = monotonic_ns() + kFailureGuardMs * 1'000'000;
  for (;;) {
    // Other messages that arrive meanwhile are kept for later calls.
    while (link_frames_.empty()) {
      Result<std::optional<Frame>> frame = decoder_.next();
      if (!frame || (!*frame && !read_more(deadline))) return std::nullopt;
      if (!*frame) continue;
      if (nla::is_link_frame((*frame)->kind)) {
        link_frames_.push_back(std::move(**frame));
      } else if (Result<nla::Message> message = nla::decode(std::move(**frame))) {
        seen_.emplace_back(nla::name_of(*message));
        inbox_.push_back(std::move(*message));
      }
    }
    Frame frame = std::move(link_frames_.front());
    link_frames_.pop_front();
    if (frame.kind == static_cast<std::uint8_t>(kind)) return frame;
  }
}

bool FakeParent::bring_up(std::uint32_t nodes, const std::string& settings) {
  nodes_ = nodes;
  // If the test has already sent another introduction, the agent does not read this one.
  send_raw(nla::encode(nla::Introduction{true, 0, 0, job_id_,
                                         nla::NodeKeys::all(std::string(32, 'k')).encode(),
                                         std::string(nla::kCommonKeyBytes, 'c')}));
  nla::msg::Start start;
  start.job_id = job_id_;
  start.slice = {0, nodes};
  start.nodes = nodes;
  start.degree = 1;
  start.output_window = 1024 * 1024;
  start.grace_ms = grace_ms_;
  start.settings = settings;
  send(start);
  std::string names;
  for (std::uint32_t i = 0; i < nodes; ++i)
    names += cat("node", i, "\n");
  send(nla::msg::SliceHosts{true, Chunk(names)});
  const auto ready = expect<nla::msg::Ready>();
  return ready && ready->agents == nodes;
}

nla::Job FakeParent::job_of(std::vector<std::string> argv, std::uint32_t per_node) const {
  nla::Job job;
  job.id = job_id_;
  for (std::uint32_t i = 0; i < nodes_; ++i)
    job.map.append(i, per_node);
  nla::App app;
  app.argv = std::move(argv);
  app.ranks = RankSet::run(0, job.map.size());
  job.apps.push_back(app);
  job.env = {cat("PATH=", std::getenv("PATH")), cat("SCELA_TEST_JOB=", job_id_), "PMI_PORT=x:1"};
  job.wdir = "/";
  job.grace_ms = grace_ms_;
  return job;
}

bool FakeParent::launch(const std::string& script, std::uint32_t per_node) {
  return launch(job_of({"/bin/sh", "-c", script}, per_node));
}

bool FakeParent::launch(const nla::Job& job) {
  ranks_ = job.map.size();
  send(nla::msg::JobBytes{true, Chunk(nla::encode(job))});
  const auto launched = expect<nla::msg::Launched>();
  return launched && launched->ranks == ranks_;
}

std::string FakeParent::output_of_all() {
  std::string text;
  std::uint32_t open = 2 * ranks_;
  while (open > 0) {
    const auto output = expect<nla::msg::Output>();
    if (!output) break;
    if (output->stream == nla::Stream::out) text += output->bytes.view();
    open -= output->end ? 1 : 0;
  }
  return text;
}

bool FakeParent::sees_end() {
  take([](const nla::Message&) { return false; });
  return ended_;
}

bool FakeParent::sees_close() {
  return eventually([&] {
    pollfd asked{link_.get(), 0, 0};
    return ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLHUP) != 0;
  });
}

std::vector<pid_t> FakeParent::processes() const {
  std::vector<pid_t> found;
  const std::string mark = cat("SCELA_TEST_JOB=", job_id_);
  for_each_entry("/proc", [&](const std::string& name) {
    const pid_t pid = static_cast<pid_t>(std::atol(name.c_str()));
    if (pid <= 0 || !alive(pid)) return;
    const std::string environment = read_small_file(cat("/proc/", name, "/environ").c_str());
    const std::size_t at = environment.find(mark);
    if (at == std::string::npos) return;
    const std::size_t end = at + mark.size();
    if (end == environment.size() || environment[end] == '\0') found.push_back(pid);
  });
  return found;
}

std::vector<std::string> FakeParent::directories() const {
  std::vector<std::string> found;
  for_each_entry(temporary_base(), [&](const std::string& name) {
    if (name.starts_with(cat("scela-", ::getuid(), "-", job_id_, "-"))) {
      found.push_back(cat(temporary_base(), "/", name));
    }
  });
  return found;
}

bool FakeParent::nothing_left() const {
  return eventually([&] { return processes().empty() && directories().empty(); });
}

int FakeParent::guardian_status() {
  int status = -1;
  eventually([&] { return ::waitpid(guardian_, &status, WNOHANG) == guardian_; });
  guardian_ = 0;
  return status;
}

}  // namespace scela::test
