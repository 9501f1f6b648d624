#include "pmi/client/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "pmi/protocol/pmi2/pmi2_wire.h"

namespace scela::pmi::client {

namespace {

// In bytes; longer than any answer to a request of this library.
constexpr std::size_t kMaxAnswer = std::size_t{256} * 1024;
// One answer brings at most two descriptors: a ring's memory and its doorbell.
constexpr std::size_t kMaxReceived = 2;

std::optional<long> number_of(std::string_view text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> environment_number(const char* name) {
  const char* const text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : number_of(text);
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

Error broken(std::string what, std::string why) {
  return Error{ErrorKind::protocol, std::move(what), "", std::move(why),
               "start this program with a launcher that speaks PMI-1"};
}

bool segment_offered(std::string_view job) {
  const char* const offered = std::getenv("SCELA_SEGMENT");
  return offered != nullptr && std::string_view(offered) == "1" && is_job_of_scela(job);
}

// With --pmi pmgr a rank of a larger job has no PMI server. It would silently run on as if it were
// the only rank. Rank 0 prints one line for the whole job.
void warn_alone(const char* library) {
  const int size = environment_number("SCELA_SIZE").value_or(1);
  if (size <= 1 || environment_number("SCELA_RANK") != 0) return;
  std::fprintf(stderr,
               "%s: neither PMI_FD nor PMI_PORT is set, so each of the %d ranks runs alone "
               "(start them with --pmi fd or --pmi port)\n",
               library, size);
}

bool ring_refused() {
  const char* const wanted = std::getenv("SCELA_RING");
  return wanted != nullptr && std::string_view(wanted) == "0";
}

// `address` has the form host:port.
Result<Fd> connect_to(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos)
    return fail(broken("PMI_PORT", cat("'", address, "' is no host:port")));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.substr(0, colon).c_str(),
                                  address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return fail(broken(cat("PMI_PORT ", address), ::gai_strerror(error)));
  Fd socket;
  int number = 0;
  for (const addrinfo* at = found; at != nullptr && !socket; at = at->ai_next) {
    socket.reset(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (socket && ::connect(socket.get(), at->ai_addr, at->ai_addrlen) != 0) {
      number = errno;
      socket.reset();
    }
  }
  ::freeaddrinfo(found);
  if (!socket)
    return fail(os_error(ErrorKind::unreachable, cat("connect to PMI_PORT ", address), number));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

bool is_job_of_scela(std::string_view job) {
  const char* const by = std::getenv("SCELA_JOB_ID");
  if (by == nullptr || *by == '\0') return false;
  const std::string_view id(by);
  // The key-value space of spawned ranks is named after the job, followed by a dot and a number.
  return job == id || (job.substr(0, id.size()) == id && job.substr(id.size(), 1) == ".");
}

std::optional<std::string> Fields::find(std::string_view name) const {
  const std::string sought = cat(name, "=");
  std::size_t at = line_.compare(0, sought.size(), sought) == 0 ? 0 : line_.find(cat(" ", sought));
  if (at == std::string::npos) return std::nullopt;
  at = line_.find('=', at) + 1;
  // The field "value" comes last in its line, and its text is the user's.
  if (name == "value") return line_.substr(at);
  return line_.substr(at, line_.find(' ', at) - at);
}

std::optional<long> Fields::number(std::string_view name) const {
  const auto text = find(name);
  return text ? number_of(*text) : std::nullopt;
}

bool Fields::ok() const {
  return number("rc").value_or(0) == 0;
}

Result<std::optional<Connection>> Connection::open(const char* library) {
  Connection made;
  if (const auto number = environment_number("PMI_FD")) {
    made.socket_.reset(*number);
    made.rank_ = environment_number("PMI_RANK").value_or(-1);
    made.size_ = environment_number("PMI_SIZE").value_or(-1);
    if (made.rank_ < 0 || made.size_ <= made.rank_) {
      return fail(broken("PMI_RANK and PMI_SIZE", "they are not set beside PMI_FD, or wrong"));
    }
    return std::optional<Connection>(std::move(made));
  }
  const char* const port = std::getenv("PMI_PORT");
  if (port == nullptr) {
    warn_alone(library);
    return std::optional<Connection>();
  }
  const auto id = environment_number("PMI_ID");
  if (!id) return fail(broken("PMI_ID", "it is not set beside PMI_PORT"));
  auto socket = connect_to(port);
  if (!socket) return fail(std::move(socket.error()));
  made.socket_ = std::move(*socket);
  if (auto done = made.introduce(*id); !done) return fail(std::move(done.error()));
  return std::optional<Connection>(std::move(made));
}

// A rank that connects to PMI_PORT sends its id. The launcher answers and sends three more lines,
// two of which hold the size and the rank.
Result<void> Connection::introduce(int id) {
  if (auto first = ask(cat("cmd=initack pmiid=", id), "initack"); !first) {
    return fail(std::move(first.error()));
  }
  for (int i = 0; i < 3; ++i) {
    auto line = read_line(nullptr);
    if (!line) return fail(std::move(line.error()));
    const Fields set(std::move(*line));
    if (const auto size = set.number("size")) size_ = static_cast<int>(*size);
    if (const auto rank = set.number("rank")) rank_ = static_cast<int>(*rank);
  }
  if (rank_ < 0 || size_ <= rank_) return fail(broken("initack", "the launcher named no rank"));
  return {};
}

void Connection::say(std::string_view line) {
  send(cat(line, "\n"));
}

void Connection::send(std::string_view text) {
  if (ring_) return ring_->send(text);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t wrote = retry([&] {
      return ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    });
    if (wrote <= 0) return;  // the read of the answer fails, too
    sent += static_cast<std::size_t>(wrote);
  }
}

Result<std::string> Connection::read_line(Received* received) {
  for (;;) {
    if (const auto end = input_.find('\n'); end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    if (auto more = read_more(received); !more) return fail(std::move(more.error()));
  }
}

Result<std::string> Connection::read_framed(Received* received) {
  for (;;) {
    if (input_.size() >= kLengthField) {
      const auto length = parse_length(input_.substr(0, kLengthField));
      if (!length) return fail(broken("read an answer", "it has no length"));
      if (input_.size() >= kLengthField + *length) {
        std::string payload = input_.substr(kLengthField, *length);
        input_.erase(0, kLengthField + *length);
        return payload;
      }
    }
    if (auto more = read_more(received); !more) return fail(std::move(more.error()));
  }
}

Result<void> Connection::read_more(Received* received) {
  if (input_.size() > kMaxAnswer) return fail(broken("read an answer", "it does not end"));
  if (ring_) return ring_->read_more(input_);
  char bytes[4096];
  iovec part{bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxReceived * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (received != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  const ssize_t got = retry([&] { return ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC); });
  if (got == 0) return fail(broken("read an answer", "the launcher closed the connection"));
  if (got < 0) return fail(os_error(ErrorKind::io, "read an answer of the launcher", errno));
  input_.append(bytes, static_cast<std::size_t>(got));
  const cmsghdr* const header = received == nullptr ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    for (std::size_t at = CMSG_LEN(0); at < header->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      __builtin_memcpy(&fd, CMSG_DATA(header) + at - CMSG_LEN(0), sizeof fd);
      received->emplace_back(fd);
    }
  }
  return {};
}

// Threads take turns, because the next bytes after a request must be its answer.
std::mutex& Connection::turn() {
  static std::mutex one;
  return one;
}

Result<Fields> Connection::ask(std::string_view line, std::string_view command) {
  const std::lock_guard turn_of(turn());
  say(line);
  auto answer = read_line(nullptr);
  if (!answer) return fail(std::move(answer.error()));
  Fields fields(std::move(*answer));
  if (fields.find("cmd") != command) {
    return fail(broken(std::string(line), cat("the launcher answered '", fields.line(), "'")));
  }
  return fields;
}

Result<std::string> Connection::ask_framed(std::string_view message) {
  const std::lock_guard turn_of(turn());
  send(message);
  return read_framed(nullptr);
}

void Connection::attach(std::string_view job) {
  if (!segment_offered(job)) return;
  say("cmd=scela_segment");
  Received received;
  if (read_line(&received)) use_segment(std::move(received));
  if (ring_refused()) return;
  say("cmd=scela_ring");
  received.clear();
  if (read_line(&received)) use_ring(std::move(received));
}

void Connection::attach_framed(std::string_view job) {
  if (!segment_offered(job)) return;
  send(Pmi2Writer("scela-segment").text());
  Received received;
  if (read_framed(&received)) use_segment(std::move(received));
  if (ring_refused()) return;
  send(Pmi2Writer("scela-ring").text());
  received.clear();
  if (read_framed(&received)) use_ring(std::move(received));
}

void Connection::use_segment(Received received) {
  if (received.size() != 1) return;
  auto memory = SealedMemory::attach(std::move(received.front()));
  if (!memory) return;
  const segment::Reader reader(memory->base(), memory->bytes());
  if (!reader.usable()) return;
  memory_ = std::move(*memory);
  reader_ = reader;
}

void Connection::use_ring(Received received) {
  if (received.size() != 2) return;
  ring_ = Ring::make(std::move(received[0]), std::move(received[1]));
  if (!ring_) return;
  ring_->take();
  // The descriptor's number stays in use. Programs that this one starts find the number in PMI_FD,
  // and must not write into a file that this process opens later.
  const Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nowhere) ::dup2(nowhere.get(), socket_.get());
}

}  // namespace scela::pmi::client
