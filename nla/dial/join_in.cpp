#include "nla/dial/join_in.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"
#include "nla/dial/join_words.h"

extern char** environ;

namespace scela::nla {

namespace {

using Clock = std::chrono::steady_clock;

// The time for each line of scela-run. A longer one delays the next attempt if something else
// listens there.
constexpr int kAnswerMs = 10'000;
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr char kComeAgain[] = "join again for the next job";

Error join_failure(ErrorKind kind, const std::string& target, std::string why,
                   std::string hint = {}) {
  return Error{kind, "join the job (--join)", target, std::move(why), std::move(hint)};
}

struct Target {
  std::string host;
  std::uint16_t port = 0;
};

std::optional<Target> parse_target(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  Target out{text.substr(0, colon), 0};
  if (out.host.starts_with('[') && out.host.ends_with(']'))
    out.host = out.host.substr(1, out.host.size() - 2);
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (error != std::errc() || at != end || out.port == 0 || out.host.empty() ||
      out.host.starts_with('-'))
    return std::nullopt;
  return out;
}

// Returns what getent prints for the name; "" if it knows none, or there is no getent.
std::string looked_up(const std::string& name) {
  const auto program = find_program("getent", kUsualPath, "/");
  auto output = make_pipe();
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!program || !output || !null) return {};
  const int descriptors[] = {null.get(), output->write.get(), null.get()};
  std::vector<std::string> words = {"getent", "ahosts", name};
  const std::vector<char*> argv = argv_of(words);
  ChildSpec spec;
  spec.program = program->c_str();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.dies_with_parent = true;
  const auto pid = start_child(spec);
  output->write.reset();
  if (!pid) return {};
  std::string text;
  char piece[1024];
  for (ssize_t got;
       (got = retry([&] { return ::read(output->read.get(), piece, sizeof piece); })) > 0;)
    if (text.size() < sizeof piece * 64) text.append(piece, static_cast<std::size_t>(got));
  retry([&] { return ::waitpid(*pid, nullptr, 0); });
  return text;
}

std::vector<Address> addresses_of(const Target& target) {
  if (const auto numeric = parse_address(target.host, target.port)) return {*numeric};
  std::vector<Address> out;
  const std::string text = looked_up(target.host);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    // getent has a line for each type of socket.
    if (line.find("STREAM") == std::string::npos) continue;
    if (const auto address = parse_address(line.substr(0, line.find(' ')), target.port))
      out.push_back(*address);
  }
  return out;
}

// Reads a line without its newline, byte by byte, because what follows is not for this reader.
// Returns std::nullopt if the connection ends or takes too long.
std::optional<std::string> read_line(const Fd& socket) {
  std::string line;
  for (;;) {
    pollfd ready{socket.get(), POLLIN, 0};
    if (retry([&] { return ::poll(&ready, 1, kAnswerMs); }) != 1) return std::nullopt;
    char c = 0;
    if (retry([&] { return ::recv(socket.get(), &c, 1, 0); }) != 1) return std::nullopt;
    if (c == '\n') return line;
    line += c;
    if (line.size() >= kMaxJoinLine) return std::nullopt;
  }
}

bool send_line(const Fd& socket, const std::string& line) {
  // A new connection has room for a line.
  return ::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(line.size());
}

// Proves the key, and has it proven. Returns an error of kind unreachable if trying again may help.
Result<void> introduce(DialedIn& dialed, const JoinPlace& place) {
  const auto line = read_line(dialed.socket);
  if (!line) {
    return fail(join_failure(ErrorKind::unreachable, place.target,
                             "the connection ends before scela-run says a word"));
  }
  const auto call = parse_join_call(*line);
  if (!call) return fail(join_failure(ErrorKind::protocol, place.target, call.error().why));
  JoinRequest request{place.build, place.name, place.slots, new_dial_secret()};
  if (!send_line(dialed.socket, format(request, *call, place.key)))
    return fail(join_failure(ErrorKind::unreachable, place.target, errno_text(errno)));
  const auto answer = read_line(dialed.socket);
  if (!answer) {
    return fail(join_failure(ErrorKind::unreachable, place.target,
                             "scela-run has closed the connection, perhaps as its job has ended"));
  }
  auto good = check_join_answer(*answer, request, *call, place.key);
  if (!good && good.error().kind == ErrorKind::launch)
    return fail(join_failure(ErrorKind::launch, place.target, good.error().why, kComeAgain));
  if (!good) {
    return fail(
        join_failure(ErrorKind::protocol, place.target, good.error().why,
                     "give both sides the same --key-file, and each agent a --name of its own"));
  }
  dialed.secret = join_secret(place.key, call->job);
  notice_lost_peer(dialed.socket);
  return {};
}

Result<DialedIn> try_once(const JoinPlace& place, const Target& target) {
  const std::vector<Address> addresses = addresses_of(target);
  Error last = join_failure(ErrorKind::unreachable, place.target,
                            cat("the name '", target.host, "' is not known (getent ahosts)"),
                            "give its address, or wait until the name is known");
  for (const Address& address : addresses) {
    auto made = dial_address(address);
    if (!made) {
      last = join_failure(ErrorKind::unreachable, place.target, made.error().why);
      continue;
    }
    auto done = introduce(*made, place);
    if (done) return made;
    last = std::move(done.error());
    if (last.kind != ErrorKind::unreachable) break;
  }
  return fail(std::move(last));
}

}  // namespace

Result<DialedIn> join_in(const JoinPlace& place) {
  const auto target = parse_target(place.target);
  if (!target) {
    return fail(join_failure(ErrorKind::usage, place.target, "it is no HOST:PORT",
                             "write scela-nla --join HOST:PORT"));
  }
  const auto deadline = Clock::now() + place.limit;
  for (std::chrono::milliseconds pause{100};; pause = std::min(2 * pause, kLongestPause)) {
    auto made = try_once(place, *target);
    if (made || made.error().kind != ErrorKind::unreachable) return made;
    if (Clock::now() + pause >= deadline) {
      made.error().hint = cat("no scela-run --listen took this agent within ",
                              place.limit.count() / 1000, " s (--join-timeout)");
      return made;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace scela::nla
