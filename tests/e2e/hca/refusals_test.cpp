// The library meets an engine that is none, or one of another version. It says so, and maps and
// follows nothing of it.
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>
#include <new>

#include "common/os/sealed_memory.h"
#include "hca/core/wire/engine_messages.h"
#include "tests/e2e/hca/verbs_program.h"

namespace refusals_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::test;

namespace {

// The fake engine's answer to a hello.
struct Greeting {
  Answer answer;
  std::uint32_t engine_version = kLayoutVersion;
  std::uint32_t page_version = kLayoutVersion;
  std::uint64_t page_magic = kLayoutMagic;
  std::uint64_t page_bytes = 1 << 20;
  bool is_sealed = true;
  std::size_t descriptors = 4;
  std::size_t bytes = sizeof(Answer);
};

int memory_of(std::uint64_t bytes, bool is_sealed, const std::function<void(void*)>& fill) {
  if (is_sealed) {
    auto made = SealedMemory::make("test", bytes, SealedMemory::Writers::all);
    if (!made) return -1;
    if (bytes >= sizeof(ProcessPage)) fill(made->base());
    return ::dup(made->fd().get());
  }
  const int made = ::memfd_create("test", MFD_CLOEXEC);
  if (::ftruncate(made, static_cast<off_t>(bytes)) != 0) return -1;
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
  fill(base);
  return made;
}

void greet(int connection, const Greeting& greeting) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) return;
  const int descriptors[4] = {
      memory_of(sizeof(ProcessPage), true,
                [&](void* base) { (new (base) EnginePage)->version = greeting.engine_version; }),
      ::eventfd(0, 0), pair[0], memory_of(greeting.page_bytes, greeting.is_sealed, [&](void* base) {
        auto* const page = new (base) ProcessPage;
        page->version = greeting.page_version;
        page->magic = greeting.page_magic;
      })};
  Answer answer = greeting.answer;
  answer.new_chunks = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  iovec part{&answer, greeting.bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (greeting.descriptors > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(greeting.descriptors * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(greeting.descriptors * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors, greeting.descriptors * sizeof(int));
  }
  static_cast<void>(::sendmsg(connection, &message, MSG_NOSIGNAL));
}

// Acts as an engine that reaches its parent's memory: writes the complement of the number there,
// behind it.
void show_reach(const Ask& hello) {
  std::uint64_t complement = ~hello.cookie;
  const iovec from{&complement, sizeof complement};
  const iovec to{reinterpret_cast<void*>(hello.address + sizeof hello.cookie), sizeof complement};
  static_cast<void>(::process_vm_writev(::getppid(), &from, 1, &to, 1, 0));
}

// A process of its own that listens at the place in the engine's stead.
class FakeEngine {
 public:
  // `user`: the user of the process that listens. The socket was bound before.
  FakeEngine(const Place& place, const std::function<void(int, const Ask&)>& serve,
             uid_t user = ::geteuid()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = place.path + "/socket";
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(ready[0]);
      if (::seteuid(user) != 0 || ::listen(listening, 8) != 0) ::_exit(1);
      ::close(ready[1]);
      const int connection = ::accept(listening, nullptr, nullptr);
      char bytes[4096];
      Ask hello;
      if (::recv(connection, &hello, sizeof hello, 0) > 0) serve(connection, hello);
      while (::recv(connection, bytes, sizeof bytes, 0) > 0) {
      }
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(listening);
    char byte = 0;
    static_cast<void>(!::read(ready[0], &byte, 1));  // until it listens
    ::close(ready[0]);
  }
  ~FakeEngine() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

 private:
  pid_t pid_ = 0;
};

struct Opened {
  ibv_context* context = nullptr;
  int error = 0;
  std::string said;  // on the standard error
};

Opened open_device() {
  const int said = ::memfd_create("said", MFD_CLOEXEC);
  const int before = ::dup(2);
  ibv_device** const list = ibv_get_device_list(nullptr);
  REQUIRE(list != nullptr);
  REQUIRE(list[0] != nullptr);
  Opened opened;
  ::dup2(said, 2);
  errno = 0;
  opened.context = ibv_open_device(list[0]);
  opened.error = errno;
  ::dup2(before, 2);
  ibv_free_device_list(list);
  char text[4096] = {};
  REQUIRE(::pread(said, text, sizeof text - 1, 0) >= 0);
  opened.said = text;
  ::close(said);
  ::close(before);
  return opened;
}

}  // namespace

TEST_CASE("hca refusals: an engine, or memory, of another version is refused, and said to be") {
  const Place place(false);  // not strict, like the fake engine
  Greeting greeting;
  std::string word = "of another version";
  bool shows_reach = true;
  SECTION("its answer") {
    greeting.answer.version = kLayoutVersion + 1;
  }
  SECTION("its refusal") {
    greeting.answer.error = EPROTO;
    greeting.descriptors = 0;
  }
  SECTION("its page") {
    greeting.engine_version = kLayoutVersion + 1;
  }
  SECTION("this process's page") {
    greeting.page_version = kLayoutVersion - 1;
  }
  SECTION("no page at all") {
    greeting.page_magic = 0;
  }
  SECTION("less than a page") {
    greeting.page_bytes = 64;
    word = "cannot be mapped";
  }
  SECTION("memory that could shrink") {
    greeting.is_sealed = false;
    word = "sent no memory";
  }
  SECTION("no memory") {
    greeting.descriptors = 3;
    word = "sent no memory";
  }
  SECTION("it reaches another's memory") {
    shows_reach = false;
    word = "memory of another process";
  }
  SECTION("half an answer") {
    greeting.bytes = sizeof(Answer) / 2;
    word = "closed the connection";
  }
  const FakeEngine fake(place, [&](int connection, const Ask& hello) {
    if (shows_reach) show_reach(hello);
    greet(connection, greeting);
  });
  const Opened opened = open_device();
  CHECK(opened.context == nullptr);
  CHECK((opened.error == EPROTO || opened.error == EIO));
  CHECK(opened.said.find("libscela-ibverbs: cannot open") == 0);
  CHECK(opened.said.find(word) != std::string::npos);
}

TEST_CASE(
    "hca refusals: a process that meets an engine that is being killed is served by the next") {
  const Place place(false);  // not strict, like the fake engine
  const FakeEngine dying(place, [](int, const Ask&) { ::_exit(1); });
  const Opened opened = open_device();
  CHECK(opened.said.empty());
  REQUIRE(opened.context != nullptr);
  CHECK(ibv_close_device(opened.context) == 0);
}

TEST_CASE("hca refusals: the fake engine of these tests is accepted without a fault") {
  const Place place(false);  // not strict, like the fake engine
  const FakeEngine fake(place, [](int connection, const Ask& hello) {
    show_reach(hello);
    greet(connection, {});
  });
  const Opened opened = open_device();
  REQUIRE(opened.context != nullptr);
  CHECK(opened.said.empty());
  CHECK(ibv_close_device(opened.context) == 0);
}

TEST_CASE("hca refusals: another user's process that listens at the socket gets no word") {
  REQUIRE(::geteuid() == 0);  // only root can become another user
  const Place place(false);   // not strict, like the fake engine
  const FakeEngine fake(
      place, [](int connection, const Ask&) { greet(connection, {}); }, 65534);
  const Opened opened = open_device();
  CHECK(opened.context == nullptr);
  CHECK(opened.error == EPERM);
  CHECK(opened.said.find("belongs to another user") != std::string::npos);
}

}  // namespace refusals_test
