#include "tests/e2e/hca/engine_client.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "hca/core/wire/doorbells.h"
#include "tests/e2e/hca/engine_program.h"
#include "tests/support/eventually.h"

namespace scela::test {

using namespace hca;

EngineProcess::EngineProcess(std::vector<std::string> options, std::string told)
    : options_(std::move(options)), told_(std::move(told)) {
  std::string path = temporary_base() + "/scela-hca-test-XXXXXX";
  REQUIRE(::mkdtemp(path.data()) != nullptr);
  directory_ = path;
  start();
}

void EngineProcess::start() {
  REQUIRE(pid_ == 0);
  auto ready = make_pipe();
  REQUIRE(ready);
  said_.reset(::memfd_create("said", MFD_CLOEXEC));
  REQUIRE(said_);
  std::vector<std::string> words{"scela-hca", "--socket", socket(), "--ready-fd", "3"};
  if (!told_.empty()) words.insert(words.end(), {"--fabric-fd", "4"});
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd told(::memfd_create("told", MFD_CLOEXEC));
  REQUIRE(::pwrite(told.get(), told_.data(), told_.size(), 0) ==
          static_cast<ssize_t>(told_.size()));
  const int descriptors[] = {null.get(), null.get(), said_.get(), ready->write.get(), told.get()};
  ChildSpec spec;
  spec.program = engine_program();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.dies_with_parent = true;
  const auto started = start_child(spec);
  REQUIRE(started);
  pid_ = *started;
  ready->write.reset();
  char byte = 0;
  REQUIRE(retry([&] { return ::read(ready->read.get(), &byte, 1); }) == 1);
  REQUIRE(::read(ready->read.get(), &byte, 1) == 0);
}

void EngineProcess::signal(int signo) const {
  REQUIRE(::kill(pid_, signo) == 0);
}

int EngineProcess::wait() {
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  if (!ended) return -1;
  pid_ = 0;
  return status;
}

EngineProcess::~EngineProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  static_cast<void>(remove_tree(directory_));
}

std::string EngineProcess::said() const {
  std::string text(1 << 16, '\0');
  const ssize_t got = ::pread(said_.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::vector<std::string> EngineProcess::files() const {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory_.c_str()), ::closedir);
  REQUIRE(listing);
  while (const dirent* entry = ::readdir(listing.get()))
    if (entry->d_name[0] != '.') found.emplace_back(entry->d_name);
  std::ranges::sort(found);
  return found;
}

Client::Client(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(socket.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, socket.c_str(), socket.size());
  Fd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    connection_ = std::move(made);
  }
}

bool Client::send(const void* bytes, std::size_t count) const {
  return ::send(connection_.get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

Reply Client::receive() const {
  Reply reply;
  alignas(cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))];
  iovec bytes{&reply.answer, sizeof reply.answer};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got =
      retry([&] { return ::recvmsg(connection_.get(), &message, MSG_CMSG_CLOEXEC); });
  if (got <= 0) return reply;
  REQUIRE((got == sizeof reply.answer || got == 1));  // 1: a status
  reply.came = true;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      reply.descriptors.emplace_back(number);
    }
  }
  return reply;
}

Reply Client::ask(const Ask& ask) const {
  if (!send(&ask, sizeof ask)) return {};
  return receive();
}

Reply Client::ask(Operation operation) const {
  Ask made;
  made.operation = operation;
  return ask(made);
}

void Client::hello() {
  Reply reply = ask(Operation::hello);
  REQUIRE(reply.came);
  REQUIRE(reply.answer.error == 0);
  REQUIRE(reply.descriptors.size() == 4);
  auto engine = SealedMemory::attach(std::move(reply.descriptors[0]), SealedMemory::Writers::all);
  REQUIRE(engine);
  engine_.push_back(std::move(*engine));
  wake_ = std::move(reply.descriptors[1]);
  events_ = std::move(reply.descriptors[2]);
  take_chunks(reply, 3);
}

void Client::take_chunks(Reply& reply, std::size_t first) {
  REQUIRE(reply.descriptors.size() == first + reply.answer.new_chunks);
  for (std::size_t i = first; i < reply.descriptors.size(); ++i) {
    auto chunk = SealedMemory::attach(std::move(reply.descriptors[i]), SealedMemory::Writers::all);
    REQUIRE(chunk);
    chunks_.push_back(std::move(*chunk));
  }
}

std::byte* Client::at(const Region& region) const {
  REQUIRE(region.chunk < chunks_.size());
  REQUIRE(region.offset + region.bytes <= chunks_[region.chunk].bytes());
  return static_cast<std::byte*>(chunks_[region.chunk].base()) + region.offset;
}

ProcessPage& Client::page() const {
  return *static_cast<ProcessPage*>(chunks_.at(0).base());
}

EnginePage& Client::engine() const {
  return *static_cast<EnginePage*>(engine_.at(0).base());
}

void Client::ring(std::uint32_t doorbell) const {
  if (!hca::ring(page(), engine(), doorbell)) return;
  const std::uint64_t one = 1;
  REQUIRE(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

bool sees_end(const Fd& descriptor) {
  pollfd end{descriptor.get(), POLLIN, 0};
  if (::poll(&end, 1, static_cast<int>(kFailureGuardMs)) != 1) return false;
  char byte = 0;
  return ::recv(descriptor.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

}  // namespace scela::test
