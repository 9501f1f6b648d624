// The agent of a node that was taken over: it keeps to the protocol until its rank "runs", then it
// does what its mode says for as long as its parent listens.
//
//   taken_over_node MODE BUILD      its link is standard input and output, as behind a remote shell
//
// When it has said all that its mode says it writes MODE into the fifo $E2E_READY. Then it stays,
// as an agent does while its rank runs on. SIGTERM ends it.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "common/core/bytes.h"
#include "common/core/frame.h"
#include "common/core/text.h"
#include "nla/core/tree/remote_shell.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/link_frames.h"
#include "nla/core/wire/request_names.h"

namespace {

using namespace scela;
using namespace scela::nla;

constexpr Rank kVictim = 0, kOwn = 1;  // ranks: one on each of two nodes, this is the second

class Node {
 public:
  explicit Node(std::string mode, const std::string& build) : mode_(std::move(mode)) {
    write_all(ready_line(build));
  }

  int run() {
    while (!ready_)
      hear(true);
    attack();
    std::ofstream(std::getenv("E2E_READY")) << mode_ << std::endl;
    for (;;)
      hear(true);
  }

 private:
  using Attack = void (Node::*)();

  void attack() {
    const std::map<std::string, Attack> attacks = {{"routed_messages", &Node::routed_messages},
                                                   {"pieces", &Node::pieces},
                                                   {"questions", &Node::questions},
                                                   {"sets", &Node::sets},
                                                   {"mismatches", &Node::mismatches},
                                                   {"log", &Node::log},
                                                   {"log-flood", &Node::log_flood},
                                                   {"nested-counters", &Node::nested_counters},
                                                   {"long-line", &Node::long_line},
                                                   {"many-counters", &Node::many_counters},
                                                   {"failures", &Node::failures},
                                                   {"spawn", &Node::spawn},
                                                   {"names", &Node::names},
                                                   {"puts", &Node::puts},
                                                   {"stay", &Node::stay},
                                                   {"labels", &Node::labels},
                                                   {"introduce", &Node::introduce},
                                                   {"deaf", &Node::deaf}};
    (this->*attacks.at(mode_))();
  }

  // Sends routed_messages with ever new tags to a rank that receives nothing.
  void routed_messages() {
    const Chunk body(std::string(64 * 1024, 'x'));
    for (std::uint32_t i = 0; i < 5000; ++i)  // 312 MiB
      send(msg::RoutedMessage{kOwn, kVictim, i % 1000, body.size(), 0, body});
  }
  // Sends messages that never end to the services of the other node's ranks.
  void pieces() {
    const Chunk body(std::string(64 * 1024, 'x'));
    for (std::uint32_t i = 0; i < 5000; ++i)
      send(msg::RoutedMessage{kOwn, kVictim, kServiceTags + i % 16, 32u << 20,
                              (i / 16) * body.size() % (32u << 20), body});
  }
  // Sends questions of the kind that PMIx servers ask each other, and wait for.
  void questions() {
    for (std::uint32_t i = 0; i < 300'000; ++i) {
      ByteWriter id;
      id.varint(i);
      const Chunk body(id.take());
      send(msg::RoutedMessage{kOwn, kVictim, kServiceTags, body.size(), 0, body});
    }
  }
  void sets() {
    msg::CollectiveUp up;
    up.id.set = RankSet::single(kOwn);
    for (Rank rank = 1000; rank < 121'000; rank += 2)
      up.id.set.add(rank);
    for (; up.id.tag < 500; ++up.id.tag)
      send(up);
  }
  void mismatches() {
    msg::CollectiveUp up;
    up.id.set = RankSet::run(0, 2);
    up.mismatch = std::string(60'000, 'm');
    for (; up.id.tag < 5000; ++up.id.tag)
      send(up);
  }
  void log() {
    send(msg::Log{{LogLevel::error, Subsystem::tree, "good",
                   "all ranks failed\x1b]0;TITLE\x07\x1b[31m\xc2\x9b"
                   "31mRED\r\nscela-run: please type your password:"},
                  1});
  }
  void log_flood() {
    const std::string text(120'000, 'A');
    for (int i = 0; i < 500; ++i)
      send(msg::Log{{LogLevel::error, Subsystem::tree, "good", text}, 1});
  }
  void nested_counters() {
    std::string line = R"({"counters":"channel","rank":1,"values":)";
    constexpr std::size_t kDepth = 1'000'000;
    for (std::size_t i = 0; i < kDepth; ++i)
      line += R"({"a":)";
    report(line + "1" + std::string(kDepth, '}') + "}\n");
  }
  void long_line() {
    report(R"({"counters":"channel","rank":1,"values":{"a)" + std::string(60u << 20, 'a') +
           "\":1}}\n");
  }
  void many_counters() {
    std::string text;
    for (std::uint32_t i = 0; text.size() < (60u << 20); ++i)
      text += cat(R"({"counters":"channel)", i, R"(","rank":)", i, R"(,"values":{"a\u001b[31m)", i,
                  "\":1}}\n");
    report(text);
  }
  void failures() {
    const std::string why(60'000, 'w');
    for (int i = 0; i < 2000; ++i)
      send(msg::ProcessFail{kOwn, {Ending::exited, i + 1, false, false, why}});
  }
  void spawn() {
    SpawnProgram program;
    program.argv = {"/bin/sh", "-c", "echo spawned"};
    program.ranks = 1;
    program.infos = {{"host", "good"}};
    SpawnRequest request;
    request.programs.push_back(std::move(program));
    for (std::uint64_t id = 0; id < 5000; ++id)
      send(msg::SpawnAsked{kOwn, id, request});
  }
  void names() {
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      msg::NameAsked ask;
      ask.rank = kOwn;
      ask.id = i;
      ask.act = i % 2 == 0 ? NameAct::publish : NameAct::await;
      ask.name = cat(i, std::string(1000, 'n'));
      ask.port = std::string(1000, 'p');
      send(ask);
    }
  }
  void puts() {
    for (std::uint32_t i = 0; i < 20'000; ++i)
      send(msg::Get{cat(i, std::string(1000, 'k')), true});
  }

  // Introduces this process as a parent does.
  void introduce() {
    write_all(encode(Introduction{true, 0, 1, "job", "", std::string(kCommonKeyBytes, 'k')}));
  }
  // Asks for things that are refused, and reads none of the answers.
  void deaf() {
    msg::SpawnAsked asked;
    asked.rank = kOwn;
    SpawnProgram program;
    program.argv = {std::string(1000, 'p')};
    asked.request.programs.push_back(std::move(program));
    for (;;) {
      ++asked.id;
      const Encoded bytes = encode(asked);
      write_all(cat(bytes.head, bytes.tail.view()));
    }
  }
  void stay() {}  // it does not end when it is told to
  // Signs its rank's line with the number of the other node's rank.
  void labels() { send(msg::Output{kOwn, Stream::out, false, Chunk(std::string("0: forged\n"))}); }

  // Sends the text at the end of the job, as a part of the trace. Its rank's end is reported first.
  void report(const std::string& text) {
    send(msg::Verdicts{{{Outcome{}, RankSet::single(kOwn)}}});
    while (!shutdown_)
      hear(true);
    constexpr std::size_t kPiece = 65536;
    for (std::size_t at = 0; at < text.size(); at += kPiece)
      send(msg::Report{1, false, Chunk(text.substr(at, kPiece))});
    send(msg::Report{1, true, {}});
    send(msg::Done{});
    std::_Exit(0);
  }

  void send(const Message& message) {
    const Encoded bytes = encode(message);
    write_all(cat(bytes.head, bytes.tail.view()));
    hear(false);
  }
  // A parent that has closed the link has had enough: this process ends, and with it the attack.
  static void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (wrote <= 0) std::_Exit(0);
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }

  // Handles all messages that have come. If `wait` is set, it waits for at least one piece.
  void hear(bool wait) {
    for (bool waits = wait;;) {
      pollfd asked{STDIN_FILENO, POLLIN, 0};
      if (::poll(&asked, 1, waits ? 500 : 0) <= 0) break;
      static char buffer[64 * 1024];
      const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
      if (got <= 0) std::_Exit(0);
      decoder_.feed({buffer, static_cast<std::size_t>(got)});
      waits = false;
    }
    if (wait) write_all(link_frame(LinkFrame::beat));
    for (;;) {
      Result<std::optional<Frame>> frame = decoder_.next();
      if (!frame || !*frame) return;
      if (is_link_frame((*frame)->kind)) continue;
      Result<Message> message = decode(std::move(**frame));
      if (message) answer(*message);
    }
  }
  void answer(const Message& message) {
    const auto say = [](const Message& one) {
      const Encoded bytes = encode(one);
      write_all(cat(bytes.head, bytes.tail.view()));
    };
    if (const auto* start = std::get_if<msg::Start>(&message)) {
      msg::Hello hello;
      hello.node = start->slice.first;
      say(hello);
    } else if (std::holds_alternative<msg::SliceHosts>(message)) {
      say(msg::Ready{1});
    } else if (const auto* job = std::get_if<msg::JobBytes>(&message);
               job != nullptr && job->last) {
      say(msg::Launched{1});
      ready_ = true;
    } else if (std::holds_alternative<msg::Terminate>(message) && mode_ != "stay") {
      std::_Exit(0);
    } else if (std::holds_alternative<msg::Shutdown>(message)) {
      shutdown_ = true;
    }
  }

  const std::string mode_;
  FrameDecoder decoder_{};
  bool ready_ = false;
  bool shutdown_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: taken_over_node MODE BUILD\n", stderr);
    return 64;
  }
  ::signal(SIGPIPE, SIG_IGN);
  return Node(argv[1], argv[2]).run();
}
