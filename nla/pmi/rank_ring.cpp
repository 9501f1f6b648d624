#include "nla/pmi/rank_ring.h"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "common/os/futex.h"

namespace scela::nla {

std::unique_ptr<RankRing> RankRing::make() {
  auto memory =
      SealedMemory::make("scela-rank", pmi::ring::kTotalBytes, SealedMemory::Writers::all);
  if (!memory) return nullptr;
  return std::unique_ptr<RankRing>(new RankRing(std::move(*memory)));
}

RankRing::RankRing(SealedMemory memory)
    : memory_(std::move(memory)),
      end_(pmi::ring::SharedMemory(memory_.base()), static_cast<std::uint64_t>(::getpid())),
      uses_(memory_.base()) {}

bool RankRing::calls(bool may_read) const {
  if (state_ == State::lent) return is_taken();
  return state_ == State::in_use && end_.calls(may_read);
}

std::optional<std::size_t> RankRing::read(char* out, std::size_t max_bytes) {
  const auto got = end_.read(out, max_bytes);
  if (!got) state_ = State::spoilt;
  return got;
}

bool RankRing::write(AnswerQueue& answers) {
  while (!answers.empty()) {
    const std::string_view rest = answers.front();
    const auto wrote = end_.write(rest);
    if (!wrote) {
      state_ = State::spoilt;
      return false;
    }
    const bool all = *wrote == rest.size();
    answers.take(*wrote);
    if (!all) break;  // the rank rings when it has made room
  }
  if (end_.tell()) wake();
  return true;
}

void RankRing::close() {
  end_.close();
  wake();
}

void RankRing::wake() const {
  futex_wake(pmi::ring::SharedMemory(memory_.base()).futex());
}

}  // namespace scela::nla
