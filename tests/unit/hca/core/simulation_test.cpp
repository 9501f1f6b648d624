// Runs several nodes in one process, with all choices drawn from a seed. Engines take turns,
// connections are slow, full or cut, and cut ones are made again. In any case messages arrive once
// and in their order, and one seed always makes the same run.
#include <catch2/catch.hpp>
#include <tuple>

#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::simulation_test {
namespace {

constexpr std::size_t kNodes = 4;
constexpr std::uint64_t kMessages = 20, kAdds = 10;  // of each queue pair
constexpr int kMaxCuts = 12;

// The time, node, request and status of a completion, with its data.
using Seen = std::tuple<Moment, std::size_t, std::uint64_t, Status, std::uint32_t, std::uint32_t>;

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {
    for (std::size_t n = 0; n < kNodes; ++n) {
      Settings settings = node(lid(n));
      settings.seed = random_.next() | 1;
      nodes_.push_back(std::make_unique<Fabric>(settings));
      for (std::size_t other = 0; other < kNodes; ++other)
        if (other != n)
          nodes_[n]->machine.nodes[lid(other)] = static_cast<std::uint32_t>(other + 1);
      nodes_[n]->machine.max_frames = random_.between(1, 8);
      programs_.push_back(std::make_unique<Program>(*nodes_[n], 1));
      cqs_.push_back(programs_[n]->make_cq(1024));
    }
    counter_ = programs_[0]->buffer(8);
    for (std::size_t one = 0; one < kNodes; ++one)
      for (std::size_t other = one + 1; other < kNodes; ++other)
        join(one, other);
  }

  std::vector<Seen> run() {
    for (std::uint64_t n = 0; n < kMessages; ++n)
      for (End& end : ends_)
        post(end, n);
    while (turn() || later()) {
    }
    return seen_;
  }
  void check() {
    std::uint64_t adds = 0;
    std::memcpy(&adds, counter_.bytes.data(), sizeof adds);
    CHECK(adds == kAdds * (kNodes - 1));
    for (const End& end : ends_) {
      INFO("from node " << end.peer << " to node " << end.at);
      for (std::uint64_t n = 0; n < kMessages; ++n)
        REQUIRE(end.landing.bytes[n * 8] == static_cast<std::byte>(end.peer * 50 + n));
    }
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> next;  // by node and queue pair
    for (const auto& [when, at, id, status, qpn, immediate] : seen_) {
      REQUIRE(status == Status::success);
      if (id < kReceives) continue;
      REQUIRE(immediate == (next[{at, qpn}]++));
    }
    REQUIRE(next.size() == ends_.size());
    for (const auto& [end, count] : next)
      REQUIRE(count == kMessages);
  }
  int cuts() const { return cuts_; }

 private:
  static constexpr std::uint64_t kReceives = 1000;  // the IDs of receives begin with it
  struct End {
    std::size_t at = 0, peer = 0;
    QueuePair qp;
    Buffer what, landing, found;
  };
  static std::uint16_t lid(std::size_t n) { return static_cast<std::uint16_t>(10 * n + 1); }

  void join(std::size_t one, std::size_t other) {
    Ask ask;
    ask.cap = {64, 64, 1, 1, 0};
    QueuePair qps[2];
    const std::size_t at[2] = {one, other};
    for (std::size_t i = 0; i < 2; ++i) {
      ask.send_cq = ask.recv_cq = cqs_[at[i]];
      qps[i] = programs_[at[i]]->make_qp(ask);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      Way way;
      way.lid = lid(at[1 - i]);
      REQUIRE(connect(*programs_[at[i]], qps[i], QpType::rc, qps[1 - i].handle, way) == 0);
      Program& program = *programs_[at[i]];
      End end{at[i],
              at[1 - i],
              qps[i],
              program.buffer(kMessages * 8),
              program.buffer(kMessages * 8),
              program.buffer(8)};
      for (std::uint64_t n = 0; n < kMessages; ++n)
        program.post_recv(end.qp, kReceives + n, {end.landing.sge(n * 8, 8)});
      ends_.push_back(std::move(end));
    }
  }
  void post(End& end, std::uint64_t n) {
    SendRequest send = request(Opcode::send_with_imm, n);
    send.immediate = static_cast<std::uint32_t>(n);
    std::fill_n(end.what.bytes.begin() + static_cast<std::ptrdiff_t>(n * 8), 8,
                static_cast<std::byte>(end.at * 50 + n));
    programs_[end.at]->post_send(end.qp, send, {end.what.sge(n * 8, 8)});
    if (end.peer != 0 || n >= kAdds) return;
    SendRequest add = remote(Opcode::fetch_add, counter_);
    add.wr_id = 500 + n;
    add.compare_add = 1;
    programs_[end.at]->post_send(end.qp, add, {end.found.all()});
  }

  // Runs the engines in any order, and delivers a frame of any connection. Returns false if nothing
  // can be done at once.
  bool turn() {
    bool more = false;
    const std::size_t first = random_.below(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      Fabric& fabric = *nodes_[(first + i) % kNodes];
      if (random_.chance(1, 3)) {
        more = true;  // this engine is slow this time
        continue;
      }
      more = fabric.engine.run(now_) || more;
    }
    std::vector<std::size_t> with;
    for (std::size_t n = 0; n < kNodes; ++n)
      if (!nodes_[n]->machine.frames.empty()) with.push_back(n);
    if (!with.empty()) {
      bring(with[random_.below(with.size())]);
      more = true;
    }
    look();
    return more;
  }
  // Chooses a node for which there is a frame, and delivers the first frame for it. Sometimes it
  // cuts the connection instead.
  void bring(std::size_t from) {
    auto& frames = nodes_[from]->machine.frames;
    const std::uint32_t to = frames[random_.below(frames.size())].node;
    if (cuts_ < kMaxCuts && random_.chance(1, 40)) return cut(from, to - 1);
    const auto first =
        std::ranges::find_if(frames, [&](const Machine::Frame& frame) { return frame.node == to; });
    const Machine::Frame frame = std::move(*first);
    frames.erase(first);
    CHECK(nodes_[to - 1]->engine.receive(static_cast<std::uint32_t>(from + 1), frame.bytes, now_));
    for (std::uint32_t other = 1; other <= kNodes; ++other)
      nodes_[from]->engine.writable(other);
  }
  // Loses the frames between two nodes, in both directions.
  void cut(std::size_t one, std::size_t other) {
    ++cuts_;
    for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
      const auto number = static_cast<std::uint32_t>(to + 1);
      std::erase_if(nodes_[from]->machine.frames,
                    [&](const Machine::Frame& frame) { return frame.node == number; });
      nodes_[from]->engine.lost(number, now_);
    }
    for (const std::size_t n : {one, other})
      for (std::uint32_t any = 1; any <= kNodes; ++any)
        nodes_[n]->engine.writable(any);
  }
  void look() {
    for (std::size_t n = 0; n < kNodes; ++n)
      for (const Completion& one : programs_[n]->poll(cqs_[n]))
        seen_.emplace_back(now_, n, one.wr_id, one.status, one.qpn, one.immediate);
  }
  bool later() {
    std::optional<Moment> next;
    for (const auto& fabric : nodes_)
      if (const auto due = fabric->engine.deadline()) next = std::min(next.value_or(*due), *due);
    if (!next) return false;
    now_ = std::max(now_, *next);
    return true;
  }

  Random random_;
  Moment now_ = 1;
  std::vector<std::unique_ptr<Fabric>> nodes_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::uint32_t> cqs_;
  Buffer counter_;
  std::vector<End> ends_;
  std::vector<Seen> seen_;
  int cuts_ = 0;
};

}  // namespace

TEST_CASE("hca simulation: all arrives once and in order between four nodes with cut links") {
  int cuts = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    Simulation simulation(seed);
    simulation.run();
    simulation.check();
    cuts += simulation.cuts();
  }
  CHECK(cuts > 40);
}

TEST_CASE("hca simulation: the same seed makes the same run, and another another one") {
  const auto first = Simulation(7).run();
  CHECK(first == Simulation(7).run());
  CHECK(first != Simulation(8).run());
}

}  // namespace scela::hca::test::simulation_test
