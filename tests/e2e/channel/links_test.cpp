// Links to other nodes, mostly over an adapter that has no XRC.
#include <array>
#include <cstring>
#include <thread>

#include "tests/e2e/channel/links_job.h"

namespace links_test {

namespace {

// A transfer of rank 0 to memory that rank 1 does not have.
class Stray {
 public:
  explicit Stray(Job& job) : job_(job), bytes_(100'000) {
    operation_.memory = must(job[0].link->registered(bytes_, verbs::Registrations::For::transfer));
    job.poll_until({0, 1}, [&] {
      constexpr std::uint32_t kNobodysKey = 0x7ffffff1;
      return job[0].link->write(1, operation_, bytes_, 4096, kNobodysKey);
    });
  }
  Outcome outcome_for(const std::vector<std::size_t>& those) {
    job_.poll_until(those, [&] { return job_[0].told.has_value(); });
    return *job_[0].told;
  }

 private:
  Job& job_;
  std::vector<std::byte> bytes_;
  Operation operation_;
};

// A foreign process that reaches the port of a rank, and knows that rank's whole address.
class Intruder {
 public:
  Intruder() {
    device_ = must(verbs::open_device({.library = "scela", .device = {}}));
    pd_ = must(verbs::alloc_pd(*device_.symbols, device_.context));
    cq_ = must(verbs::create_cq(*device_.symbols, device_.context, 8, {}));
    memory_ = must(verbs::reg_mr(*device_.symbols, pd_, bytes_.data(), bytes_.size(), 0));
  }
  // Returns a handshake in the name of rank 1, as if that rank had started anew. A rank that
  // believes it gives up all that it had with rank 1 before.
  connect::Handshake words(const std::string& card_of_1, const connect::PeerAddress& to) {
    connect::Handshake words;
    words.mode = connect::Mode::pairs;
    words.own = true;
    std::memcpy(&words.from, card_of_1.data(), sizeof words.from);
    ++words.from.life;
    words.to = to.name;
    words.number = 1;
    words.end = {1, 1, 3, 1};
    return words;
  }
  void say(const connect::Handshake& words, std::uint32_t key, const connect::PeerAddress& to) {
    const verbs::Symbols& symbols = *device_.symbols;
    const verbs::Port& port = device_.capability.ports.front();
    const verbs::Qp qp =
        must(verbs::create_qp(symbols, pd_, IBV_QPT_UD, cq_, cq_, {}, {.sends = 1, .receives = 1}));
    REQUIRE(verbs::ready_datagrams(symbols, qp, port, key).has_value());
    const std::string text = connect::encode(words);
    std::memcpy(bytes_.data(), text.data(), text.size());
    verbs::Target target;
    target.lid = to.address.lid;
    std::memcpy(target.gid.raw, to.address.gid.data(), sizeof target.gid.raw);
    const verbs::Ah way = must(verbs::create_ah(symbols, pd_, verbs::address_of(port, target)));
    ibv_sge piece{reinterpret_cast<std::uint64_t>(bytes_.data()),
                  static_cast<std::uint32_t>(text.size()), memory_->lkey};
    ibv_send_wr request{}, *bad = nullptr;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud = {way.get(), to.address.qpn, key};
    REQUIRE(::ibv_post_send(qp.get(), &request, &bad) == 0);
    ibv_wc wc{};
    while (::ibv_poll_cq(cq_.get(), 1, &wc) == 0) {
    }
    REQUIRE(wc.status == IBV_WC_SUCCESS);
  }

 private:
  verbs::Device device_;
  verbs::Pd pd_;
  verbs::Cq cq_;
  std::array<std::byte, connect::kHandshakeBytes> bytes_{};
  verbs::Mr memory_;
};

}  // namespace

TEST_CASE("channel links without XRC: each pair has a queue pair for both ways") {
  Job job;
  job.send(0, 1, 1);
  job.send(1, 0, 2);
  job.send(2, 0, 3);
  job.send(0, 2, 4);
  CHECK(job[0].counters().max_connections == 2);
  CHECK(job[1].counters().max_connections == 1);
  CHECK(job[2].counters().max_queue_pairs == 1);
  CHECK(job[0].counters().rnr_events == 0);
}

TEST_CASE("channel links without XRC: two that ask each other at once have one connection") {
  Job job;
  Header header;
  header.tag = 7;
  bool from_0 = false, from_1 = false;
  while (!from_0 || !from_1) {
    header.source = 0;
    from_0 = from_0 || job[0].link->send(1, header, {});
    header.source = 1;
    from_1 = from_1 || job[1].link->send(0, header, {});
    job.poll({0, 1});
  }
  job.poll_until({0, 1}, [&] { return !job[0].came[1].empty() && !job[1].came[0].empty(); });
  CHECK(job[0].counters().connections == 1);
  CHECK(job[1].counters().connections == 1);
}

TEST_CASE("channel links without XRC: a rank that ends takes no other rank of its node along") {
  Job job;
  job.send(0, 1, 1);
  job.end(1);
  job.begin(0, 1, 2);
  job.poll_until({0}, [&] { return job[0].counters().resent > 0; });
  SECTION("as the launcher tells, and the other computes meanwhile") {
    job[0].link->ended(1);
    job.poll_on({0});
  }
  SECTION("without news, and the other answers") {
    job.poll_on({0, 2});
    CHECK(job[0].gone.count(1) == 0);  // it may be computing
  }
  SECTION("without news, and without a look for an answer for long") {
    std::this_thread::sleep_for(kUnreachableAfter + std::chrono::milliseconds(500));
    job.poll({0});
    CHECK(job[0].gone.count(1) == 0);
  }
  REQUIRE(job[0].gone.count(2) == 0);
  job.send(2, 0, 3);
  job.send(0, 2, 4);
}

TEST_CASE("channel links without XRC: if no rank of a node answers, all of its ranks are lost") {
  Job job;
  job.send(0, 1, 1);
  job.end(1);
  job.end(2);
  job.begin(0, 1, 2);
  job.poll_until({0}, [&] { return job[0].gone.count(1) != 0; });
  CHECK(job[0].gone[1].find("the adapter cannot reach it: ") == 0);
  job.poll_until({0}, [&] { return job[0].gone.count(2) != 0; });
  CHECK(job[0].gone[2].find("the adapter cannot reach it: ") == 0);
}

TEST_CASE("channel links: a refused buffer is an error of the device if its rank still lives") {
  const verbs::Mode mode = GENERATE(verbs::Mode::rc, verbs::Mode::xrc);
  Job job(mode);
  job.send(0, 1, 1);
  Stray stray(job);
  CHECK(stray.outcome_for({0, 1, 2}) == Outcome::device);
  CHECK(job[0].gone.empty());
  job.send(0, 1, 2);
  job.send(1, 0, 3);
}

TEST_CASE("channel links: a rank that refuses bytes and then is silent may have ended") {
  Job job(GENERATE(verbs::Mode::rc, verbs::Mode::xrc));
  job.send(0, 1, 1);
  const std::uint64_t repeats = job[0].counters().handshakes_repeated;
  Stray stray(job);
  // Rank 1 refused the bytes, so rank 0 must connect to it anew.
  job.poll_until({0},
                 [&] { return job[0].told || job[0].counters().handshakes_repeated > repeats; });
  CHECK_FALSE(job[0].told);
  SECTION("as the launcher tells") {
    job[0].link->ended(1);
    CHECK(stray.outcome_for({0}) == Outcome::peer_ended);
  }
  SECTION("and has not, as it says later") {
    CHECK(stray.outcome_for({0, 1}) == Outcome::device);
    job.send(0, 1, 2);
  }
  SECTION("without news for long: it computes") {
    CHECK(stray.outcome_for({0}) == Outcome::device);
    CHECK(job[0].gone.empty());
    job.send(0, 1, 2);
  }
}

TEST_CASE("channel links: a process without the job's secrets cannot speak for a rank") {
  Job job;
  job.send(0, 1, 1);
  Intruder intruder;
  connect::PeerAddress to;
  std::memcpy(&to, job.cards[0].data(), sizeof to);
  connect::Handshake words = intruder.words(job.cards[1], to);
  const auto is_heard_as_nobody = [&](std::uint64_t times) {
    job.poll_until({0, 1}, [&] { return job[0].counters().handshakes_ignored == times; });
  };
  // The rank drops a datagram with the right key and a wrong secret. The device drops a datagram
  // with a wrong key, which a datagram that comes behind it shows.
  words.secret = kWord.secret ^ 1;
  intruder.say(words, kWord.key, to);
  is_heard_as_nobody(1);
  words.secret = kWord.secret;
  intruder.say(words, kWord.key ^ 1, to);
  words.secret = 0;
  intruder.say(words, kWord.key, to);
  is_heard_as_nobody(2);
  job.send(0, 1, 2);
  job.send(1, 0, 3);
  CHECK(job[0].counters().resent == 0);
  CHECK(job[0].counters().max_queue_pairs == 1);
  CHECK(job[0].gone.empty());
  // The rank believes a datagram with both, and then loses rank 1.
  words.secret = kWord.secret;
  intruder.say(words, kWord.key, to);
  job.poll_until({0}, [&] { return job[0].gone.count(1) != 0; });
}

}  // namespace links_test
