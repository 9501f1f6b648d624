// Whether it pays to look at the bells for a while before sleeping: a sleep and a wake cost some
// microseconds, a processor that others need costs more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::hca {

class Patience {
 public:
  // As long as a sleep and a wake cost; longer spinning gains nothing that it does not cost.
  static constexpr std::uint64_t kSpinNs = 20'000;
  // Where it costs none of the processes anything: then only what it gains counts, and that they
  // need not wake it.
  static constexpr std::uint64_t kSpinAloneNs = 1'000'000;

  // So often others may run there until that is looked at again: what belongs to the system does.
  static constexpr std::uint64_t kMostSwitches = 50;

  explicit Patience(std::size_t processors) : processors_(processors) {}

  // Whether no process may run where the engine does. `switches`: how often somebody else has, as
  // yet.
  void be_alone(bool alone, std::uint64_t switches) {
    alone_ = alone;
    switches_ = switches;
  }
  // Who is there are no processes of this engine: others' engines, which would each spin in vain.
  void switched(std::uint64_t switches) {
    if (switches - switches_ > kMostSwitches) alone_ = false;
  }
  bool is_alone() const { return alone_; }
  std::uint64_t spin_ns() const { return alone_ ? kSpinAloneNs : kSpinNs; }
  // Only if every process, and the engine, can have a processor of its own.
  bool spins(std::size_t processes) const {
    return (alone_ || processors_ > processes) && credit_ > 0;
  }
  void spun(bool found) { credit_ = found ? grown() : credit_ - 1; }
  // A sleep of this long: a short one would have been spared.
  void slept(std::uint64_t ns) {
    if (ns < spin_ns()) credit_ = grown();
  }

 private:
  static constexpr int kMost = 16;
  int grown() const { return credit_ < kMost ? credit_ + 1 : kMost; }

  std::size_t processors_;
  bool alone_ = false;
  std::uint64_t switches_ = 0;
  int credit_ = 0;
};

}  // namespace scela::hca
