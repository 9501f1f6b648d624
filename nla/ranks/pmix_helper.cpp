#include "nla/ranks/pmix_helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/process/child.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/core/tree/remote_shell.h"

namespace scela::nla {

namespace {

// If more bytes than this wait to be read by the server, events are dropped.
constexpr std::size_t kMaxBehind = std::size_t{16} * 1024 * 1024;

// Returns true for variables of a PMIx server around this job, which our server must not get.
bool is_foreign(std::string_view variable) {
  return variable.starts_with("PMI_") ||
         (variable.starts_with("PMIX_") && !variable.starts_with("PMIX_MCA_")) ||
         variable.starts_with("TMPDIR=");
}

// Returns the variables that the server and stand-ins get from this agent, and those that they
// need.
std::vector<std::string> environment_in(std::string_view directory) {
  std::vector<std::string> out;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!is_foreign(*at)) out.emplace_back(*at);
  }
  out.push_back(cat("TMPDIR=", directory));
  // The other way to keep data, in files that libpmix grows, breaks with values of some megabytes.
  out.emplace_back("PMIX_MCA_gds=hash");
  // libpmix would keep a million copies of output that no tool has asked for.
  out.emplace_back("PMIX_MCA_pmix_max_iof_cache=1");
  // libpmix makes no use of displays and accelerators. Looking for them would load X11 and try ten
  // displays.
  if (::getenv("HWLOC_PLUGINS_BLACKLIST") == nullptr)
    out.emplace_back("HWLOC_PLUGINS_BLACKLIST=hwloc_gl.so,hwloc_opencl.so");
  return out;
}

auto start_failed(std::string why, std::string hint) {
  return fail(Error{ErrorKind::launch, "start the node's PMIx server", "", std::move(why),
                    std::move(hint)});
}

std::string advice(int status) {
  // The dynamic loader and shells end with this status if they cannot run a program.
  if (!WIFSIGNALED(status) && WEXITSTATUS(status) == 127) {
    return "; it needs libpmix: install it on this node (package libpmix2)";
  }
  return "";
}

}  // namespace

PmixHelper::PmixHelper(const RanksHost& host, const Job& job, const RankSet& own,
                       std::uint32_t node, Poller& poller, Reach reach, News news)
    : host_(host),
      job_(job),
      own_(own),
      poller_(poller),
      news_(std::move(news)),
      service_(job, own, node, sides(std::move(reach))) {}

bool PmixHelper::reply(const action::Reply& reply) {
  const bool is_message = reply.id == kUnasked;
  if (!is_message && (reply.id & kPmixRequest) == 0) return false;
  action::Reply own = reply;
  own.id &= ~kPmixRequest;
  service_.reply(own);
  return true;
}

PmixService::Callbacks PmixHelper::sides(Reach reach) {
  PmixService::Callbacks sides;
  sides.tell = [this](const pmix::Message& message) { tell(message); };
  sides.ask = [this](Rank rank, RequestId id, Request request) {
    if (auto* spawn = std::get_if<ask::Spawn>(&request)) drop_defaults(spawn->request);
    host_.emit(event::Asked{rank, id | kPmixRequest, std::move(request)});
  };
  sides.stand_in = [this](Rank rank) {
    stand_ins_.push_back(rank);
    start_stand_in();
  };
  sides.is_leaving = [process = reach.process](Rank rank) {
    const pid_t pid = process(rank);
    return pid != 0 && is_exiting(pid);
  };
  sides.process = [process = std::move(reach.process)](Rank rank) {
    return static_cast<std::uint32_t>(process(rank));
  };
  sides.kill = std::move(reach.signal);
  sides.release = std::move(reach.release);
  sides.write = [write = std::move(reach.write)](Rank rank, bool error, std::string text) {
    return write(rank, error ? Stream::err : Stream::out, std::move(text));
  };
  return sides;
}

// The directory's name and lock let later agents find it, if no process is left to remove it.
void PmixHelper::make_shared_directory(const std::string& node) {
  std::string path = private_directory_path("/dev/shm", cat(kShippedName, job_.id, "-", node));
  // If agent and server are killed at once, the guardian removes it.
  host_.register_cleanup(path);
  if (!make_private_directory(path)) return;
  shared_ = std::move(path);
  shared_hold_ = lock_directory(shared_);
}

Result<void> PmixHelper::start(const NodeFacts& node) {
  Result<PmixProgram> found = PmixProgram::find(node);
  if (!found) return fail(found.error());
  pmix::msg::Setup setup;
  setup.job = job_.id;
  setup.directory = cat(node.directory, "/pmix");
  setup.rank_directory = cat(node.directory, "/ranks");
  for (const std::string& directory : {setup.directory, setup.rank_directory}) {
    if (auto made = make_private_directory(directory); !made) return fail(made.error());
  }
  make_shared_directory(node.name);
  fallback_ = setup.rank_directory;
  processors_ = node.processors;
  Result<SocketPair> pair = make_socket_pair(SOCK_STREAM);
  if (!pair) return fail(pair.error());
  Result<Pipe> errors = make_pipe();
  if (!errors) return fail(errors.error());
  Result<Fd> null = open_file("/dev/null", O_RDWR);
  if (!null) return fail(null.error());
  // It is not read while the server runs: output that does not fit is dropped, and blocks no
  // thread.
  for (const Fd* end : {&errors->read, &errors->write})
    ::fcntl(end->get(), F_SETFL, O_NONBLOCK);

  program_.emplace(*std::move(found));
  directory_ = setup.directory;
  std::vector<std::string> variables = environment_in(directory_);
  const std::vector<char*> environment = argv_of(variables);
  std::string program = kPmixServer;
  char* argv[] = {program.data(), shared_.empty() ? nullptr : shared_.data(), nullptr};
  const int descriptors[] = {null->get(), null->get(), errors->write.get(), pair->theirs.get()};
  ChildSpec spec;
  spec.argv = argv;
  spec.envp = environment.data();
  spec.directory = directory_.c_str();
  spec.descriptors = descriptors;  // the last one's end: the server's end
  const auto pid = program_->start(spec);
  if (!pid) return start_failed(text_of(pid.error(), program_->name()), "");
  pid_ = *pid;
  link_ = std::move(pair->ours);
  errors_ = std::move(errors->read);

  setup.node = node.index;
  setup.hosts = job_.hosts;
  tell(setup);
  service_.tell_worlds();
  return {};
}

std::vector<std::string> PmixHelper::defaults(std::uint64_t ranks) {
  // Open MPI 4 believes in a server only if a known launcher has started it (docs/design/pmix.md).
  std::vector<std::string> out = {"JSM_JSRUN_PORT=1"};
  // It spins while it waits, which starves the others if ranks share a core.
  if (ranks > processors_) out.emplace_back("OMPI_MCA_mpi_yield_when_idle=1");
  // It tries another kind of shared memory, which it does not use. This trial leaves a file if the
  // rank is killed.
  out.emplace_back("OMPI_MCA_shmem=mmap");
  // It leaves its shared memory if it is killed, and names it by the machine. Nodes that share a
  // machine would take each other's.
  out.push_back(
      cat("OMPI_MCA_btl_vader_backing_directory=", shared_.empty() ? fallback_ : shared_));
  for (const std::string& variable : out) {
    if (std::ranges::find(defaults_, variable) == defaults_.end()) defaults_.push_back(variable);
  }
  return out;
}

// Open MPI passes its variables on to ranks that it spawns. Ranks on another node must not get this
// node's.
void PmixHelper::drop_defaults(SpawnRequest& request) const {
  for (SpawnProgram& program : request.programs) {
    std::erase_if(program.env, [&](const std::string& variable) {
      return std::ranges::find(defaults_, variable) != defaults_.end();
    });
  }
}

void PmixHelper::set_reading(bool on) {
  may_read_ = on;
  watch();
}

void PmixHelper::watch() {
  if (!link_) return;
  const bool write = written_ < output_.size();
  if (watched_ && may_read_ == reading_ && write == writing_) return;
  if (watched_) {
    poller_.change(link_.get(), may_read_, write, *this);
  } else {
    poller_.watch(link_.get(), may_read_, write, *this);
  }
  watched_ = true;
  reading_ = may_read_;
  writing_ = write;
}

void PmixHelper::ready(bool readable, bool writable) {
  if (writable) write();
  if (readable && link_) read();
  watch();
}

void PmixHelper::tell(const pmix::Message& message) {
  if (!link_) return;
  // Events need no answer. If the server does not read, it misses some.
  const bool behind = output_.size() - written_ > kMaxBehind;
  if (behind && std::holds_alternative<pmix::msg::Event>(message)) return;
  output_ += pmix::encode(message);
  write();
  watch();
}

void PmixHelper::write() {
  while (written_ < output_.size()) {
    const ssize_t wrote = retry([&] {
      return ::send(link_.get(), output_.data() + written_, output_.size() - written_,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (wrote < 0) {
      if (errno != EAGAIN) written_ = output_.size();  // it has ended, which is read
      break;
    }
    written_ += static_cast<std::size_t>(wrote);
  }
  if (written_ < output_.size()) return;
  output_.clear();
  written_ = 0;
}

// Reads at most one buffer. Returns false if there is no more now.
bool PmixHelper::read() {
  const ssize_t got = retry([&] {
    return ::recv(link_.get(), host_.buffer.bytes, sizeof host_.buffer.bytes, MSG_DONTWAIT);
  });
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    give_up("");
    return false;
  }
  decoder_.feed({host_.buffer.bytes, static_cast<std::size_t>(got)});
  while (link_) {
    Result<std::optional<pmix::Message>> message = decoder_.next();
    if (!message) {
      give_up(message.error().why);
    } else if (!*message) {
      break;
    } else if (!service_.receive(std::move(**message))) {
      give_up("it said what no server says there");
    } else if (!service_.fault().empty()) {
      give_up(service_.fault());
    } else if (std::exchange(served_, service_.ready_worlds()) != service_.ready_worlds()) {
      news_("");
    }
  }
  return link_.valid();
}

// The server is reaped before anything is reported.
void PmixHelper::give_up(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  link_.reset();
  // If only its link has ended, the server is ending, and this changes nothing. Otherwise it would
  // stay.
  if (pid_ != 0) ::kill(pid_, SIGKILL);
}

bool PmixHelper::ending() {
  while (link_ && read()) {
  }
  // The ranks' connections may be closed a moment before the link is.
  return pid_ != 0 && !let_go_ && (!link_ || is_exiting(pid_));
}

bool PmixHelper::rank_ended(Rank rank) {
  while (link_ && read()) {
  }
  const bool unfinished = service_.unfinished(rank);
  service_.rank_ended(rank);
  return unfinished;
}

void PmixHelper::note_end(Rank rank, const Outcome& outcome) {
  using pmix::ProcessState;
  ProcessState state = ProcessState::lost;
  if (outcome.ending == Ending::exited) state = ProcessState::exited;
  if (outcome.ending == Ending::unfinished) state = ProcessState::unfinished;
  if (outcome.ending == Ending::signaled) state = ProcessState::signaled;
  if (outcome.ending == Ending::not_started) state = ProcessState::not_started;
  service_.note_end({rank, 0, state, outcome.code});
}

// If a stand-in cannot be started, processes that wait for its rank miss it, as if there were none.
void PmixHelper::start_stand_in() {
  while (stand_in_ == 0 && link_ && !stand_ins_.empty()) {
    const Rank rank = stand_ins_.front();
    stand_ins_.pop_front();
    Result<Fd> null = open_file("/dev/null", O_RDWR);
    if (!null) continue;
    std::vector<std::string> variables = environment_in(directory_);
    std::ranges::copy(service_.environment(rank), std::back_inserter(variables));
    const std::vector<char*> environment = argv_of(variables);
    std::vector<std::string> words = {kPmixServer, "--stand-in"};
    const std::vector<char*> argv = argv_of(words);
    const int descriptors[] = {null->get(), null->get(), null->get()};
    ChildSpec spec;
    spec.argv = argv.data();
    spec.envp = environment.data();
    spec.directory = directory_.c_str();
    spec.descriptors = descriptors;
    spec.dies_with_parent = true;
    stand_in_ = program_->start(spec).value_or(0);
  }
}

void PmixHelper::end_stand_ins() {
  stand_ins_.clear();
  if (stand_in_ != 0) ::kill(stand_in_, SIGKILL);
}

void PmixHelper::let_go() {
  let_go_ = true;
  link_.reset();
  end_stand_ins();
  // Otherwise the server does, which outlives an agent that is killed.
  if (pid_ == 0 && !shared_.empty()) static_cast<void>(remove_tree(shared_));
}

std::string PmixHelper::last_words() const {
  std::string text;
  char bytes[4096];
  while (true) {
    const ssize_t got = retry([&] { return ::read(errors_.get(), bytes, sizeof bytes); });
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
    if (text.size() > sizeof bytes) text.erase(0, text.size() - sizeof bytes);
  }
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  const std::size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

bool PmixHelper::reaped(pid_t pid, int status) {
  if (stand_in_ != 0 && pid == stand_in_) {
    stand_in_ = 0;
    start_stand_in();
    return true;
  }
  if (pid_ == 0 || pid != pid_) return false;
  pid_ = 0;  // the number may be used again
  while (link_ && read()) {
  }
  link_.reset();
  end_stand_ins();
  if (let_go_) {
    // It was killed with the processes that the ranks had left, before it could remove the
    // directory.
    if (!shared_.empty()) static_cast<void>(remove_tree(shared_));
    return true;
  }
  const std::string words = last_words();
  std::string why =
      cat("the node's PMIx server (", kPmixServer, ") ",
          why_.empty() ? cat(end_of(status), words.empty() ? "" : ": ", words, advice(status))
                       : cat("gave up: ", why_));
  news_(std::move(why));
  return true;
}

}  // namespace scela::nla
