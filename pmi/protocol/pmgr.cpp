#include "pmi/protocol/pmgr.h"

#include <utility>

#include "common/core/text.h"
#include "pmi/protocol/native_ints.h"

namespace scela::pmi {

namespace {

// In bytes. Smaller parts are copied into one buffer instead of being written by themselves.
constexpr std::size_t kSmall = 4096;

enum Opcode : std::int32_t {
  kOpen = 0,
  kClose = 1,
  kAbort = 2,
  kBarrier = 3,
  kBcast = 4,
  kGather = 5,
  kScatter = 6,
  kAllgather = 7,
  kAlltoall = 8,
};

constexpr std::string_view kNames[] = {"OPEN",   "CLOSE",   "ABORT",     "BARRIER", "BCAST",
                                       "GATHER", "SCATTER", "ALLGATHER", "ALLTOALL"};

// To leave is a fence of all ranks; they put no pairs.
ask::CollectiveKind kind_of(std::int32_t opcode) {
  using Kind = ask::CollectiveKind;
  switch (opcode) {
    case kBcast:
      return Kind::broadcast;
    case kGather:
      return Kind::gather;
    case kScatter:
      return Kind::scatter;
    case kAllgather:
      return Kind::allgather;
    case kAlltoall:
      return Kind::alltoall;
    case kClose:
      return Kind::fence;
    default:
      return Kind::barrier;
  }
}

bool is_collective(const PmgrRequest& request) {
  const auto* asked = std::get_if<ask::Request>(&request);
  return asked != nullptr && std::holds_alternative<ask::Collective>(*asked);
}

// Returns the reason of a failure with the name that a client of PMGR has for a fence, see
// kind_of().
std::string in_terms_of_pmgr(std::string why) {
  constexpr std::string_view kFence = "fence";
  for (std::size_t at; (at = why.find(kFence)) != std::string::npos;)
    why.replace(at, kFence.size(), "close");
  return why;
}

class Version8 final : public PmgrSession {
 public:
  Version8(Rank rank, Rank size) : PmgrSession(rank, size) {}

 private:
  Served parse(std::string_view bytes, std::size_t& used) override {
    if (bytes.size() < kInt) return std::nullopt;
    opcode_ = int_at(bytes, 0);
    switch (opcode_) {
      case kOpen:
        return open(bytes, used);
      case kAbort:
        return urgent(bytes);
      case kClose:
        finish();
        hang_up();
        [[fallthrough]];
      case kBarrier:
        used = kInt;
        return call_of(kind_of(opcode_));
      case kBcast:
      case kGather:
      case kScatter:
      case kAllgather:
      case kAlltoall:
        return transfer(bytes, used);
      default:
        return violation(cat("sent the opcode ", opcode_));
    }
  }

  // LLNL's client does not send OPEN. Other servers accept it and send no answer, as this one does.
  Served open(std::string_view bytes, std::size_t& used) const {
    if (bytes.size() < 2 * kInt) return std::nullopt;
    const std::int32_t told = int_at(bytes, 1);
    if (told < 0 || static_cast<Rank>(told) != rank_) {
      return violation(cat("sent an OPEN for rank ", told));
    }
    used = 2 * kInt;
    return std::nullopt;
  }

  Served urgent(std::string_view bytes) const override {
    if (bytes.size() < 2 * kInt || int_at(bytes, 0) != kAbort) return std::nullopt;
    return ask::Abort{int_at(bytes, 1), {}};
  }

  // Parses an opcode that moves data: [root,] size, then the rank's own data, if any.
  Served transfer(std::string_view bytes, std::size_t& used) {
    const std::string_view name = kNames[opcode_];
    const bool rooted = opcode_ == kBcast || opcode_ == kGather || opcode_ == kScatter;
    const std::size_t head = (rooted ? 3 : 2) * kInt;
    if (bytes.size() < head) return std::nullopt;
    const std::int32_t root = rooted ? int_at(bytes, 1) : 0;
    const std::int32_t size = int_at(bytes, rooted ? 2 : 1);
    if (root < 0 || static_cast<Rank>(root) >= size_) {
      return violation(
          cat("sent ", name, " with the root ", root, ", there are ", size_, " ranks"));
    }
    const std::uint64_t most = opcode_ == kBcast ? kMaxPmgrBytes : kMaxPmgrBytes / size_;
    if (size < 0 || static_cast<std::uint64_t>(size) > most) {
      return violation(cat("sent ", name, " of ", size, " bytes, at most ", most,
                           " are served with ", size_, " ranks"));
    }
    block_ = static_cast<std::size_t>(size);
    const bool is_root = static_cast<Rank>(root) == rank_;
    const std::size_t parts = parts_of(is_root);
    if (bytes.size() < head + parts * block_) return std::nullopt;
    ask::Collective call = call_of(kind_of(opcode_), static_cast<Rank>(root));
    const Chunk all(std::string(bytes.substr(head, parts * block_)));
    for (std::size_t part = 0; part < parts; ++part)
      call.parts.push_back(all.slice(part * block_, block_));
    used = head + parts * block_;
    receives_ = opcode_ != kGather || is_root;
    return call;
  }

  // Returns the number of blocks that this rank gives.
  std::size_t parts_of(bool is_root) const {
    switch (opcode_) {
      case kBcast:
        return is_root ? 1 : 0;
      case kScatter:
        return is_root ? size_ : 0;
      case kAlltoall:
        return size_;
      default:
        return 1;
    }
  }

  bool reply(const ask::Response& result) override {
    if (opcode_ == kClose) return true;
    if (opcode_ == kBarrier) {
      send_int(kBarrier);
      return true;
    }
    if (!receives_) return true;
    for (std::size_t part = 0; part < result.parts.size(); ++part) {
      if (result.parts[part].size() == block_) continue;
      const bool one = result.parts.size() == 1;
      fail(cat("asked for ", kNames[opcode_], " of ", block_, " bytes, ",
               one ? std::string("the root") : cat("rank ", part), " for one of ",
               result.parts[part].size()));
      return false;
    }
    for (const Chunk& part : result.parts)
      send(part);
    return true;
  }

  // These belong to the operation in progress.
  std::int32_t opcode_ = kOpen;
  std::size_t block_ = 0;
  bool receives_ = true;
};

}  // namespace

void PmgrSession::receive(std::string_view bytes) {
  if (state_ == State::over) return;
  input_.erase(0, consumed_);  // keeps only the unserved bytes
  consumed_ = 0;
  input_.append(bytes);
}

std::optional<PmgrRequest> PmgrSession::next() {
  if (last_) return end(*std::exchange(last_, std::nullopt));
  while (state_ != State::over) {
    const std::string_view rest = std::string_view(input_).substr(consumed_);
    if (state_ == State::waiting) {
      if (Served now = urgent(rest)) return end(*std::move(now));
      return std::nullopt;
    }
    std::size_t used = 0;
    Served request = parse(rest, used);
    consumed_ += used;
    if (request && is_collective(*request)) {
      state_ = State::waiting;
      return request;
    }
    if (request) return end(*std::move(request));
    if (used == 0) return std::nullopt;
  }
  return std::nullopt;
}

void PmgrSession::answer(const ask::Response& result) {
  if (state_ != State::waiting) return;
  state_ = State::ready;
  if (result.ok) {
    if (!reply(result)) {
      last_ = violation(fault_);
    } else if (leaves_) {
      last_ = HangUp{};
    }
  } else if (result.disagreement) {
    last_ = violation(cat("took part in an operation that the ranks disagree about: ",
                          in_terms_of_pmgr(result.error)));
  } else {
    // The protocol has no answer for a failure. The client ends when its connection is closed.
    finished_ = true;
    last_ = HangUp{};
  }
}

std::vector<Chunk> PmgrSession::take_output() {
  if (!small_.empty()) output_.emplace_back(std::exchange(small_, {}));
  return std::exchange(output_, {});
}

bool PmgrSession::wants_bytes() const {
  if (state_ == State::over || last_) return false;
  return state_ != State::waiting || input_.size() - consumed_ < kMaxAhead;
}

ask::Collective PmgrSession::call_of(ask::CollectiveKind kind, Rank root) const {
  return {.kind = kind, .set = RankSet::run(0, size_), .root = root};
}

PmgrSession::Served PmgrSession::violation(std::string_view why) const {
  return ask::Violation{cat("PMGR: the rank ", why)};
}

std::optional<PmgrRequest> PmgrSession::end(PmgrRequest last) {
  state_ = State::over;
  input_ = std::string();
  consumed_ = 0;
  return last;
}

void PmgrSession::send(const Chunk& bytes) {
  if (bytes.size() < kSmall) {
    small_ += bytes.view();
    return;
  }
  if (!small_.empty()) output_.emplace_back(std::exchange(small_, {}));
  output_.push_back(bytes);
}

void PmgrSession::send_int(std::int32_t value) {
  append_int(small_, value);
}

std::unique_ptr<PmgrSession> make_pmgr_session(Rank rank, Rank size) {
  return std::make_unique<Version8>(rank, size);
}

}  // namespace scela::pmi
