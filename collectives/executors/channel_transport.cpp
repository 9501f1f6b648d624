// A transport over the channel. Each message is a channel request, and its ticket is the index of
// the request in a table.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collectives/executors/factory.h"
#include "collectives/executors/looking.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

Outcome outcome_of(const Status& status) {
  Outcome outcome;
  outcome.over = true;
  outcome.bytes = status.bytes();
  if (!status.ok() && status.code() != Code::truncated)
    outcome.fault = std::make_shared<const Fault>(
        Fault{fault_code_of(status.code()), status.rank(), status.message()});
  return outcome;
}

// The time between two looks for what other ranks tell of ended ranks.
constexpr std::chrono::milliseconds kBetweenChannelLooks{50};

// Words about contexts that this process was told. Any of a channel's transports may receive a
// word, which may concern another transport. So the word is passed on to all of them.
class Words {
 public:
  explicit Words(Channel& channel) : channel_(&channel::Inside::kept_for(channel)) {
    const std::lock_guard lock(all().mutex);
    all().words.push_back(this);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() {
    const std::lock_guard lock(all().mutex);
    std::erase(all().words, this);
  }

  void pass_on(const AbortedContext& what) {
    const std::lock_guard lock(all().mutex);
    for (Words* const other : all().words) {
      if (other == this || other->channel_ != channel_) continue;
      // The number is limited, because some transports are never asked for words.
      constexpr std::size_t kMax = 1024;
      if (other->kept_.size() == kMax) other->kept_.pop_front();
      other->kept_.push_back(what);
    }
  }
  std::optional<AbortedContext> next() {
    const std::lock_guard lock(all().mutex);
    if (kept_.empty()) return std::nullopt;
    const AbortedContext what = kept_.front();
    kept_.pop_front();
    return what;
  }

 private:
  struct All {
    std::mutex mutex;
    std::vector<Words*> words;
  };
  static All& all() {
    static All all;
    return all;
  }

  const void* channel_;              // identifies the channel
  std::deque<AbortedContext> kept_;  // guarded by All::mutex
};

// Returns the time to the kernel's tick, which is cheaper than the exact time.
std::chrono::nanoseconds coarse_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Returns a wake tag that no other transport of this process has.
int next_wake_tag() {
  static std::atomic<int> next{0};
  return next.fetch_add(1, std::memory_order_relaxed) & kMaxTag;
}

class ChannelTransport final : public Transport {
 public:
  explicit ChannelTransport(Channel& channel)
      : shared_(channel::Inside::share(channel)),
        channel_(*shared_),
        words_(channel),
        wake_tag_(next_wake_tag()),
        known_(static_cast<std::size_t>(channel.size()), false) {}

  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    Request request = channel_.isend(peer, tag_of(route), bytes, context_of(route));
    // A small message is over at once, and needs no ticket.
    if (request.test() && request.status().ok()) return kGone;
    return keep(std::move(request));
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    return keep(channel_.irecv(peer, tag_of(route), bytes, context_of(route)));
  }

  Outcome test(Ticket ticket) override {
    if (ticket == kGone) return {true, 0, nullptr};
    Request& request = requests_[ticket];
    const bool is_over =
        tests_ == Tests::look ? channel::Inside::is_complete(request) : request.test();
    if (!is_over) return {};
    Outcome outcome = outcome_of(request.status());
    let_go(ticket);
    return outcome;
  }
  void let_tests(Tests tests) override { tests_ = tests; }
  void move() override { channel_.progress(); }
  // The wait is at most kBetweenChannelLooks, because other ranks may tell of ended ranks
  // meanwhile.
  Outcome take(int peer, Route route, std::span<std::byte> bytes) override {
    const Status status =
        channel_.recv(peer, tag_of(route), bytes, context_of(route), kBetweenChannelLooks);
    if (status.code() == Code::timed_out) return {};
    return outcome_of(status);
  }

  bool wait_any(std::span<const Ticket> tickets, Timeout limit) override {
    // The requests are moved into one array only while they are waited for.
    waited_.clear();
    if (!listens_) listen();
    waited_.push_back(std::move(wake_));
    for (const Ticket ticket : tickets)
      waited_.push_back(std::move(requests_[ticket]));
    const Deadline deadline(limit);
    const std::size_t found = scela::wait_any(waited_, slice_of(limit));
    wake_ = std::move(waited_.front());
    for (std::size_t i = 0; i < tickets.size(); ++i)
      requests_[tickets[i]] = std::move(waited_[i + 1]);
    if (found == 0) listen();
    return found != waited_.size() || !deadline.over();
  }

  bool add_requests(std::span<const Ticket> tickets, std::vector<Request*>& all) override {
    if (!listens_ || wake_.test()) listen();
    all.push_back(&wake_);
    for (const Ticket ticket : tickets)
      all.push_back(&requests_[ticket]);
    return true;
  }

  void wait(Ticket ticket) override {
    static_cast<void>(requests_[ticket].wait(kBetweenChannelLooks));
  }

  void wake() override {
    static_cast<void>(channel_.send(channel_.rank(), wake_tag_, {}, kWakeContext));
  }

  void cancel(Ticket ticket) override {
    if (ticket == kGone) return;
    requests_[ticket] = {};
    let_go(ticket);
  }

  bool is_closed() const override { return channel::Inside::is_closed(channel_); }
  std::uint32_t tags() const override { return kMaxTag; }

  std::span<const int> ended() override {
    if (!is_time(looked_for_ends_)) return ended_;
    for (int rank = 0; rank < channel_.size(); ++rank) {
      if (known_[static_cast<std::size_t>(rank)] || !channel_.has_exited(rank)) continue;
      known_[static_cast<std::size_t>(rank)] = true;
      ended_.push_back(rank);
    }
    return ended_;
  }
  void lost(int peer) override {
    channel_.mark_exited(peer);
    looked_for_ends_ = {};
  }
  void give_up(std::span<const int> peers, const AbortedContext& what) override {
    for (const int peer : peers) {
      if (peer == channel_.rank() || (peer == what.rank && what.refusal == Refusal::none)) continue;
      auto& [bytes, request] = told_.emplace_back();
      std::memcpy(bytes.data(), &what, sizeof what);
      request = channel_.isend(peer, 0, bytes, kGivenUpContext);
    }
  }
  std::optional<AbortedContext> given_up() override {
    if (!is_time(looked_)) return std::nullopt;
    std::erase_if(told_, [](auto& one) { return one.second.test(); });
    auto what = words_.next();  // words passed on come first
    if (!what) {
      what = received();
      if (what) words_.pass_on(*what);
    }
    if (what) looked_ = {};  // there may be more
    return what;
  }
  void withdraw(Ticket ticket) override {
    if (ticket != kGone) requests_[ticket].cancel();
  }
  void drop(ContextId context) override { channel_.close_contexts(static_cast<Context>(context)); }

 private:
  // Messages of an earlier life have other tags than those of this one, as far apart as possible.
  static int tag_of(const Route& route) {
    constexpr std::uint64_t kApart = 0x9e37'79b1;
    const std::uint64_t life = route.context >> 32;
    if (life == 0) [[likely]]
      return static_cast<int>(route.tag);
    return static_cast<int>((route.tag + life % kMaxTag * kApart) % kMaxTag);
  }
  static Context context_of(const Route& route) { return static_cast<Context>(route.context); }

  std::optional<AbortedContext> received() {
    auto message = channel_.improbe(kAnySource, 0, kGivenUpContext);
    if (!message || !message->status().ok()) return std::nullopt;
    std::array<std::byte, sizeof(AbortedContext)> bytes{};
    const Status got = channel_.imrecv(std::move(*message), bytes).wait();
    AbortedContext what;
    std::memcpy(&what, bytes.data(), sizeof what);
    if (!got.ok() || got.bytes() != sizeof what) return std::nullopt;
    return what;
  }

  // A wait is cut into slices, because other ranks may tell of ended ranks, and none of these
  // messages does.
  static Timeout slice_of(const Timeout& limit) {
    return limit && *limit < kBetweenChannelLooks ? *limit : kBetweenChannelLooks;
  }
  // Returns true once in each kBetweenChannelLooks, even if no caller ever waits.
  static bool is_time(std::chrono::nanoseconds& last) {
    const std::chrono::nanoseconds now = coarse_now();
    if (now - last < kBetweenChannelLooks) return false;
    last = now;
    return true;
  }
  // The transport listens only from its first wait on, because an unneeded receive makes others
  // slower.
  void listen() {
    listens_ = true;
    wake_ = channel_.irecv(channel_.rank(), wake_tag_, {}, kWakeContext);
  }

  Ticket keep(Request request) {
    if (free_.empty()) {
      free_.push_back(static_cast<Ticket>(requests_.size()));
      requests_.emplace_back();
      free_.reserve(requests_.size());
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    requests_[ticket] = std::move(request);
    return ticket;
  }
  void let_go(Ticket ticket) {
    requests_[ticket] = {};
    free_.push_back(ticket);
  }

  const std::unique_ptr<Channel> shared_;
  Channel& channel_;
  Words words_;
  const int wake_tag_;
  Request wake_;
  bool listens_ = false;
  Tests tests_ = Tests::move;
  std::vector<Request> requests_;
  std::vector<Ticket> free_;
  std::vector<Request> waited_;
  std::vector<bool> known_;  // by rank: true if it is in ended_
  std::vector<int> ended_;
  std::chrono::nanoseconds looked_for_ends_{};
  std::chrono::nanoseconds looked_{};
  // Words to other ranks that are under way.
  std::list<std::pair<std::array<std::byte, sizeof(AbortedContext)>, Request>> told_;
};

}  // namespace

std::unique_ptr<Transport> make_channel_transport(Channel& channel) {
  return std::make_unique<ChannelTransport>(channel);
}

}  // namespace scela::collectives
