#include "nla/ranks/engine_helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/core/variables/variable_text.h"
#include "common/crypto/engine_keys.h"
#include "common/os/private_dir.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "nla/core/tree/remote_shell.h"

namespace scela::nla {

namespace {

constexpr char kProgram[] = "scela-hca";
constexpr char kEncrypts[] = "SCELA_HCA_ENCRYPT=";
// Ranks that open their devices at once, as all ranks of a node do.
constexpr int kBacklog = 1024;
// Bytes of one line that the engine writes; the rest of a longer one is another line.
constexpr std::size_t kLongestLine = 1024;
// More bytes than any record of the engine has.
constexpr std::size_t kLongestWord = 256;

bool fits(const std::string& path) {
  return path.size() < sizeof sockaddr_un::sun_path;
}

// The engine is no rank, and no library may be preloaded into it.
bool is_for_ranks_alone(std::string_view variable) {
  return variable.starts_with("LD_") || variable.starts_with("SCELA_HCA_SOCKET=");
}

}  // namespace

EngineHelper::EngineHelper(const RanksHost& host, const Job& job, const RankSet& own, Place place,
                           EngineFacts facts, Poller& poller, Environment environment)
    : host_(host),
      job_(job),
      own_(own),
      place_(std::move(place)),
      facts_(std::move(facts)),
      poller_(poller),
      environment_(std::move(environment)),
      directory_(job, own, sides()),
      knocks_([this] { program_connected(); }),
      words_([this] { read_records(); }),
      complaints_([this] { read_errors(); }) {}

EngineDirectory::Callbacks EngineHelper::sides() {
  EngineDirectory::Callbacks sides;
  sides.tell = [this](std::string_view text) { tell(text); };
  sides.send = [this](Rank from, ask::Send send) {
    host_.emit(event::Asked{from, kEngineRequest, std::move(send)});
  };
  sides.catch_up = [this] { read_records(); };
  sides.key = [this](std::uint32_t node) { return connection_key(facts_.key, node); };
  return sides;
}

void EngineHelper::say(LogLevel level, std::string text) {
  host_.emit(event::Say{{level, Subsystem::launch, place_.node, std::move(text)}});
}

// The name of the directory lets later agents find it, if no process is left to remove it.
std::string EngineHelper::choose_socket() {
  const std::string path = cat(place_.directory, "/", kEngineSocket);
  if (fits(path)) return path;
  std::string other = private_directory_path("/tmp", cat(kShippedName, job_.id, "-", place_.index));
  host_.register_cleanup(other);
  if (!make_private_directory(other)) return path;
  other_hold_ = lock_directory(other);
  other_directory_ = std::move(other);
  return cat(other_directory_, "/", kEngineSocket);
}

void EngineHelper::listen() {
  socket_ = choose_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(),
              std::min(socket_.size(), sizeof address.sun_path - 1));
  Fd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fits(socket_)) errno = ENAMETOOLONG;
  if (!made || !fits(socket_) ||
      ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(made.get(), kBacklog) != 0) {
    const int number = errno;
    say(LogLevel::warning, cat("the ranks here can have no adapter engine of the job: listen at '",
                               socket_, "': ", errno_text(number)));
    socket_.clear();
    return;
  }
  listening_ = std::move(made);
  watch(true);
}

void EngineHelper::watch(bool on) {
  if (!listening_ || watched_ == on) return;
  watched_ = on;
  if (on) {
    poller_.watch(listening_.get(), true, false, knocks_);
  } else {
    poller_.forget(listening_.get());
  }
}

void EngineHelper::program_connected() {
  if (pid_ != 0 || let_go_) return;
  if (const auto started = start(); !started) return refuse_waiting(started.error());
  watch(false);  // the engine watches it
}

// SCELA_HCA names the program. Otherwise it is found beside this agent, where scela-pmix is, or in
// PATH.
Result<std::string> EngineHelper::find(const std::vector<std::string>& environment) const {
  if (const std::string_view named = variable_value(environment, "SCELA_HCA"); !named.empty()) {
    return std::string(named);
  }
  const std::string own = own_directory();
  const std::string_view path = variable_value(environment, "PATH");
  const std::string search =
      cat(own, ":", place_.helper_directory.empty() ? "" : cat(place_.helper_directory, ":"),
          path.empty() ? kUsualPath : path);
  if (auto found = find_program(kProgram, search, "/")) return std::move(*found);
  return fail(Error{ErrorKind::launch, "start the adapter's engine of this node", "",
                    cat("there is no ", kProgram, " in ", search),
                    "install it there, or name it by SCELA_HCA in the ranks' environment"});
}

// Returns the engine's record in the format of scela-hca(8).
std::string EngineHelper::record() const {
  std::string text;
  text.reserve(1024);  // growing would leave copies of the key
  text += cat("job ", job_.id, "\nnode ", place_.index, "\nnode-key ");
  append_hex(text, facts_.key);
  const bool is_ipv6 = facts_.address.find(':') != std::string::npos;
  text +=
      cat("\nlisten ", is_ipv6 ? "[" : "", facts_.address, is_ipv6 ? "]" : "", ":0\n", "asks\n");
  return text;
}

Result<void> EngineHelper::start() {
  std::vector<std::string> variables = environment_();
  auto found = find(variables);
  if (!found) return fail(found.error());
  program_ = std::move(*found);
  std::erase_if(variables, is_for_ranks_alone);
  const auto says = [](const std::string& variable) { return variable.starts_with(kEncrypts); };
  if (facts_.encrypts && std::ranges::none_of(variables, says))
    variables.push_back(cat(kEncrypts, "yes"));
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  if (!pair) return fail(pair.error());
  auto errors = make_pipe();
  if (!errors) return fail(errors.error());
  auto null = open_file("/dev/null", O_RDWR);
  if (!null) return fail(null.error());
  // Only this agent reads it, and it must not hold up the engine: output that does not fit is
  // dropped.
  for (const Fd* end : {&errors->read, &errors->write})
    set_nonblocking(end->get());
  std::string text = record();
  const ssize_t told = retry([&] {
    return ::send(pair->ours.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  const int number = errno;
  ::explicit_bzero(text.data(), text.size());
  if (told < 0) return fail(os_error(ErrorKind::launch, "tell an engine of its job", number));

  std::vector<std::string> words = {kProgram, "--until-idle", "--fabric-fd",
                                    "3",      "--listen-fd",  "4"};
  const std::vector<char*> argv = argv_of(words);
  const std::vector<char*> environment = argv_of(variables);
  const int descriptors[] = {null->get(), null->get(), errors->write.get(), pair->theirs.get(),
                             listening_.get()};
  ChildSpec spec;
  spec.program = program_.c_str();
  spec.argv = argv.data();
  spec.envp = environment.data();
  spec.directory = "/";
  spec.descriptors = descriptors;
  spec.dies_with_parent = true;
  const auto pid = start_child(spec);
  if (!pid) {
    return fail(Error{ErrorKind::launch, "start the adapter's engine of this node", "",
                      text_of(pid.error(), program_), ""});
  }
  pid_ = *pid;
  link_ = std::move(pair->ours);
  errors_ = std::move(errors->read);
  unfinished_.clear();
  last_line_.clear();
  poller_.watch(link_.get(), true, false, words_);
  poller_.watch(errors_.get(), true, false, complaints_);
  return {};
}

// Closes the waiting connections. The reason is reported once, since each asking rank is one more
// try.
void EngineHelper::refuse_waiting(const Error& why) {
  std::string text = why.text();
  if (text != said_) say(LogLevel::error, text);
  said_ = std::move(text);
  // Connections that come meanwhile are seen in the next turn.
  for (int i = 0; i < kBacklog; ++i)
    if (!Fd(retry([&] { return ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC); })))
      return;
}

// A record that does not fit is lost, and the engine asks again.
void EngineHelper::tell(std::string_view text) {
  if (!link_) return;
  static_cast<void>(retry(
      [&] { return ::send(link_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL); }));
}

void EngineHelper::read_records() {
  char text[kLongestWord];
  while (link_) {
    const ssize_t got =
        retry([&] { return ::recv(link_.get(), text, sizeof text, MSG_DONTWAIT | MSG_TRUNC); });
    if (got < 0 && errno == EAGAIN) return;
    const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    if (bytes > 0 && bytes <= sizeof text && directory_.said({text, bytes})) continue;
    // The engine has ended, or is not the right program. Either way it is reaped soon.
    link_.reset();
    if (bytes > 0 && pid_ > 0) ::kill(pid_, SIGKILL);  // pid 0: it was reaped before
  }
}

void EngineHelper::read_errors() {
  read_records();  // it complains only once it listens
  while (errors_) {
    char bytes[kLongestLine];
    const ssize_t got = retry([&] { return ::read(errors_.get(), bytes, sizeof bytes); });
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) unfinished_.append(bytes, static_cast<std::size_t>(got));
    if (got <= 0) errors_.reset();
    while (!unfinished_.empty()) {
      const std::size_t end = unfinished_.find('\n');
      const std::size_t size = std::min({end, unfinished_.size(), kLongestLine});
      if (end == unfinished_.npos && errors_ && size < kLongestLine) break;
      last_line_ = unfinished_.substr(0, size);
      unfinished_.erase(0, size + (size == end ? 1 : 0));
      if (directory_.listens() && !last_line_.empty()) say(LogLevel::warning, last_line_);
    }
  }
}

void EngineHelper::let_go() {
  let_go_ = true;
  link_.reset();
  errors_.reset();
  watch(false);  // the engine may hold it open for longer
  listening_.reset();
  if (!other_directory_.empty()) static_cast<void>(remove_tree(other_directory_));
}

bool EngineHelper::reaped(pid_t pid, int status) {
  if (pid_ == 0 || pid != pid_) return false;
  pid_ = 0;
  read_records();
  read_errors();
  link_.reset();
  errors_.reset();
  const bool served = directory_.listens();
  directory_.ended();
  if (let_go_) return true;
  const std::string what =
      cat("the adapter's engine of this node (", program_, ") ", end_of(status));
  if (!served) {
    // Another try would end in the same way.
    refuse_waiting({ErrorKind::launch, "start the adapter's engine of this node", "",
                    cat(program_, " ", end_of(status), last_line_.empty() ? "" : ": ", last_line_),
                    ""});
  } else {
    said_.clear();
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) say(LogLevel::warning, what);
  }
  watch(true);
  return true;
}

}  // namespace scela::nla
