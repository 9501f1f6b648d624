// The session of MVAPICH 1's dialect (see pmgr.h).
#include <utility>

#include "common/core/text.h"
#include "pmi/protocol/native_ints.h"
#include "pmi/protocol/pmgr.h"

namespace scela::pmi {

namespace {

// In the second exchange a rank gives each other rank four integers: LID, queue pair, host id, pid.
constexpr std::size_t kEntry = 4;

class Mvapich1 final : public PmgrSession {
 public:
  Mvapich1(Rank rank, Rank size) : PmgrSession(rank, size) {}

 private:
  enum class Step { hosts, addresses, barrier };

  Served parse(std::string_view bytes, std::size_t& used) override {
    switch (step_) {
      case Step::hosts:
        return hosts(bytes, used);
      case Step::addresses:
        return addresses(bytes, used);
      case Step::barrier:
        return barrier(bytes, used);
    }
    return std::nullopt;
  }

  Served hosts(std::string_view bytes, std::size_t& used) const {
    if (bytes.size() < kInt) return std::nullopt;
    if (int_at(bytes, 0) != static_cast<std::int32_t>(kInt)) {
      return violation(cat("sent a host id of ", int_at(bytes, 0), " bytes, not ", kInt));
    }
    if (bytes.size() < 3 * kInt) return std::nullopt;
    used = 3 * kInt;
    ask::Collective call = call_of(ask::CollectiveKind::allgather);
    call.parts.emplace_back(std::string(bytes.substr(kInt, 2 * kInt)));
    return call;
  }

  Served addresses(std::string_view bytes, std::size_t& used) const {
    if (bytes.size() < kInt) return std::nullopt;
    const std::size_t ints = std::size_t{size_} + 1;
    if (int_at(bytes, 0) < 0 || static_cast<std::size_t>(int_at(bytes, 0)) != ints * kInt) {
      return violation(cat("sent an address of ", int_at(bytes, 0), " bytes, ", ints * kInt,
                           " belong to ", size_, " ranks"));
    }
    if (bytes.size() < (ints + 2) * kInt) return std::nullopt;
    const std::int32_t pid_length = int_at(bytes, ints + 1);
    if (pid_length != static_cast<std::int32_t>(kInt)) {
      return violation(cat("sent a pid of ", pid_length, " bytes, not ", kInt));
    }
    used = (ints + 3) * kInt;
    if (bytes.size() < used) {
      used = 0;
      return std::nullopt;
    }
    const std::string_view address = bytes.substr(kInt);
    const std::int32_t pid = int_at(bytes, ints + 2);
    ask::Collective call = call_of(ask::CollectiveKind::alltoall);
    for (Rank to = 0; to < size_; ++to) {
      std::string entry;
      append_int(entry, int_at(address, rank_));
      append_int(entry, int_at(address, to));
      append_int(entry, int_at(address, size_));
      append_int(entry, pid);
      call.parts.emplace_back(std::move(entry));
    }
    return call;
  }

  Served barrier(std::string_view bytes, std::size_t& used) {
    if (bytes.size() < kInt) return std::nullopt;
    const std::int32_t told = int_at(bytes, 0);
    if (told < 0 || static_cast<Rank>(told) != rank_) {
      return violation(cat("came to the barrier as rank ", told));
    }
    used = kInt;
    left_ = true;
    return call_of(ask::CollectiveKind::barrier);
  }

  bool reply(const ask::Response& result) override {
    if (left_) {
      send_int(static_cast<std::int32_t>(rank_));
      hang_up();
      return true;
    }
    const std::size_t ints = step_ == Step::hosts ? 2 : kEntry;
    for (const Chunk& part : result.parts) {
      if (part.size() == ints * kInt) continue;
      fail("was given less than it asked for");
      return false;
    }
    if (step_ == Step::hosts) {
      tell_hosts(result.parts);
      step_ = Step::addresses;
    } else {
      tell_addresses(result.parts);
      step_ = Step::barrier;
      // A client that was built with a barrier of its own does not come to the last one.
      finish();
    }
    return true;
  }

  void tell_hosts(const std::vector<Chunk>& parts) {
    bool same = true;
    for (const Chunk& part : parts)
      same = same && int_at(part.view(), 1) == int_at(parts.front().view(), 1);
    send_int(same ? 1 : 0);
    for (const Chunk& part : parts)
      send_int(int_at(part.view(), 0));
  }

  // Sends the entries column by column.
  void tell_addresses(const std::vector<Chunk>& parts) {
    for (std::size_t column = 0; column < kEntry; ++column) {
      for (std::size_t from = 0; from < parts.size(); ++from) {
        const bool own_queue_pair = column == 1 && from == rank_;
        send_int(own_queue_pair ? -1 : int_at(parts[from].view(), column));
      }
    }
  }

  Step step_ = Step::hosts;
  bool left_ = false;  // the rank is in the barrier
};

}  // namespace

std::unique_ptr<PmgrSession> make_mvapich1_session(Rank rank, Rank size) {
  return std::make_unique<Mvapich1>(rank, size);
}

}  // namespace scela::pmi
