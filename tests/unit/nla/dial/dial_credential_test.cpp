#include "nla/dial/dial_credential.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"
#include "nla/dial/dial_in.h"
#include "nla/io/address.h"
#include "tests/support/eventually.h"

namespace dial_credential_test {

using namespace scela;
using namespace scela::nla;

namespace {

// A directory for sockets, which is removed with its files.
struct Directory {
  Directory() {
    char name[] = "/tmp/scela-munge-XXXXXX";
    path = ::mkdtemp(name);
    ::chmod(path.c_str(), 0755);  // other users may connect
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

// A socket at which a munged might listen.
Fd listen_at(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 8) == 0);
  return socket;
}

// Returns all that arrives until the end of the pipe.
std::string all_of(const Fd& pipe) {
  REQUIRE(pipe);
  std::string out;
  std::array<char, 4096> bytes;
  for (ssize_t got;
       (got = retry([&] { return ::read(pipe.get(), bytes.data(), bytes.size()); })) > 0;)
    out.append(bytes.data(), static_cast<std::size_t>(got));
  return out;
}

// Debian's munged, with a key of its own.
class Munged {
 public:
  Munged() {
    std::ofstream(at("key")) << std::string(128, 'k');
    ::chmod(at("key").c_str(), 0600);
    const std::vector<std::string> words = {"munged",
                                            "--foreground",
                                            "--force",
                                            cat("--socket=", socket()),
                                            cat("--key-file=", at("key")),
                                            cat("--pid-file=", at("pid")),
                                            cat("--seed-file=", at("seed")),
                                            cat("--log-file=", at("log"))};
    std::vector<char*> argv;
    for (const std::string& word : words)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    process_ = ::vfork();
    if (process_ == 0) {
      ::dup2(null.get(), STDERR_FILENO);
      ::execv("/usr/sbin/munged", argv.data());
      ::_exit(127);
    }
    REQUIRE(test::eventually([this] { return !all_of(seal_dial_secret("x", socket())).empty(); }));
  }
  ~Munged() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  std::string at(const char* name) const { return cat(directory_.path, "/", name); }
  std::string socket() const { return at("socket"); }

 private:
  Directory directory_;
  pid_t process_ = -1;
};

// Puts a pipe in the place of standard input.
class Input {
 public:
  Input() : before_(::dup(0)) {
    auto pipe = make_pipe();
    REQUIRE(pipe);
    ::dup2(pipe->read.get(), 0);
    end_ = std::move(pipe->write);
  }
  ~Input() { ::dup2(before_.get(), 0); }
  void end() { end_.reset(); }
  void write(const std::string& text) {
    REQUIRE(::write(end_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

 private:
  Fd before_, end_;
};

// Returns true if the thread of this process waits for something in the kernel.
bool is_waiting(pid_t thread) {
  std::string words;
  std::getline(std::ifstream(cat("/proc/self/task/", thread, "/stat")), words);
  return words.find(") S ") != std::string::npos;
}

// Something to dial.
struct Listener {
  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket.get(), 8) == 0);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    text = cat("127.0.0.1:", ntohs(address.sin_port));
  }
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string text;
};

}  // namespace

TEST_CASE("dial credential: the user opens it as often as there are agents on a machine") {
  const Munged munged;
  const std::string secret = new_dial_secret();
  const std::string credential = all_of(seal_dial_secret(secret, munged.socket()));
  CHECK(credential.starts_with("MUNGE:"));
  CHECK(credential.find(secret) == std::string::npos);
  for (int i = 0; i < 3; ++i)
    CHECK(all_of(open_dial_credential(credential, munged.socket())) == secret);
  CHECK(all_of(open_dial_credential(cat(credential, "x"), munged.socket())) == secret);
  std::string changed = credential;
  changed[credential.size() / 2] = changed[credential.size() / 2] == 'A' ? 'B' : 'A';
  CHECK(all_of(open_dial_credential(changed, munged.socket())).empty());
  CHECK(all_of(open_dial_credential("", munged.socket())).empty());
}

TEST_CASE(
    "dial credential: one that another user has made is not opened, and no other user opens one") {
  REQUIRE(::geteuid() == 0);
  const Munged munged;
  const auto said = [&](const std::string& command) {
    std::FILE* const pipe = ::popen(cat("setpriv --reuid 65534 --clear-groups ", command,
                                        " --socket ", munged.socket(), " 2>&1")
                                        .c_str(),
                                    "r");
    std::string out;
    for (int c; (c = std::fgetc(pipe)) != EOF;)
      out += static_cast<char>(c);
    ::pclose(pipe);
    return out;
  };
  const std::string foreign = said("munge -s 0123456789abcdef");
  REQUIRE(foreign.starts_with("MUNGE:"));
  CHECK(all_of(open_dial_credential(foreign.substr(0, foreign.rfind(':') + 1), munged.socket()))
            .empty());

  const std::string secret = new_dial_secret();
  const std::string own = all_of(seal_dial_secret(secret, munged.socket()));
  std::ofstream(munged.at("credential")) << own;
  const std::string refused = said(cat("unmunge -i ", munged.at("credential")));
  CHECK(refused.find("Unauthorized credential") != std::string::npos);
  CHECK(refused.find(secret) == std::string::npos);
}

TEST_CASE("dial credential: without a munged there is none") {
  const Directory directory;
  const std::string path = cat(directory.path, "/socket");
  CHECK(all_of(seal_dial_secret("x", path)).empty());
  CHECK(all_of(seal_dial_secret("x", std::string(200, 'x'))).empty());
  CHECK(all_of(open_dial_credential("MUNGE:x:", path)).empty());
}

TEST_CASE("dial credential: a munged that closes connections ends no agent") {
  const Directory directory;
  const std::string path = cat(directory.path, "/socket");
  const Fd listener = listen_at(path);
  const std::jthread closing([&] {
    for (Fd taken; (taken = Fd(::accept(listener.get(), nullptr, nullptr)));)
      taken.reset();
  });
  for (int i = 0; i < 3; ++i)
    CHECK(all_of(open_dial_credential("MUNGE:x:", path)).empty());
  ::shutdown(listener.get(), SHUT_RDWR);
}

TEST_CASE("dialing in: the secret is what arrives first, the opened credential or the line") {
  const Listener listener;
  const std::string secret = new_dial_secret(), other = new_dial_secret();
  SECTION("a line, while munged hangs") {
    auto never = make_pipe();
    Input input;
    input.write(secret + "\nmore");
    const auto made = dial_in(listener.text, std::move(never->read));
    REQUIRE(made);
    CHECK(made->secret == secret);
  }
  SECTION("a credential, while the line has not come") {
    auto opened = make_pipe();
    REQUIRE(::write(opened->write.get(), other.data(), other.size()) > 0);
    const Input input;
    const auto made = dial_in(listener.text, std::move(opened->read));
    REQUIRE(made);
    CHECK(made->secret == other);
  }
  SECTION("a line, as no credential can be opened") {
    auto opened = make_pipe();
    opened->write.reset();
    Input input;
    input.write(secret + "\n");
    const auto made = dial_in(listener.text, std::move(opened->read));
    REQUIRE(made);
    CHECK(made->secret == secret);
  }
  SECTION("a credential, after the end of standard input") {
    auto opened = make_pipe();
    Input input;
    input.end();
    std::jthread later([&, self = ::gettid()] {
      static_cast<void>(test::eventually([self] { return is_waiting(self); }));
      static_cast<void>(!::write(opened->write.get(), other.data(), other.size()));
    });
    const auto made = dial_in(listener.text, std::move(opened->read));
    later.join();
    REQUIRE(made);
    CHECK(made->secret == other);
  }
  SECTION("neither") {
    auto opened = make_pipe();
    opened->write.reset();
    Input input;
    input.write("short\n");
    const auto made = dial_in(listener.text, std::move(opened->read));
    REQUIRE_FALSE(made);
    CHECK(made.error().text().find("no secret of the job") != std::string::npos);
  }
}

}  // namespace dial_credential_test
