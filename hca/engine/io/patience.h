// Decides whether the engine looks at the doorbells for a while before it sleeps. A sleep and a
// wake cost some microseconds; a processor that others need costs more. Server uses it, on the
// engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::hca {

class Patience {
 public:
  // As long as a sleep and a wake cost. Longer spinning costs as much as it gains.
  static constexpr std::uint64_t kSpinNs = 20'000;
  // Used if spinning costs none of the processes anything. Then only its gain counts, and that
  // processes need not wake the engine.
  static constexpr std::uint64_t kSpinAloneNs = 1'000'000;

  // How often others may run on the engine's processor until the next call of be_alone(). This is
  // more than 0, because the system's own threads run there too.
  static constexpr std::uint64_t kMaxSwitches = 50;

  explicit Patience(std::size_t processors) : processors_(processors) {}

  // `alone` is true if no process may run on the engine's processors. `switches` counts how often
  // another thread has run there so far.
  void be_alone(bool alone, std::uint64_t switches) {
    alone_ = alone;
    switches_ = switches;
  }
  // Threads that run there are no processes of this engine. They may be other engines, which would
  // each spin in vain.
  void switched(std::uint64_t switches) {
    if (switches - switches_ > kMaxSwitches) alone_ = false;
  }
  bool is_alone() const { return alone_; }
  // Returns the longest time of one spin.
  std::uint64_t spin_ns() const { return alone_ ? kSpinAloneNs : kSpinNs; }
  // Returns true only if every process, and the engine, can have a processor of its own.
  bool spins(std::size_t processes) const {
    return (alone_ || processors_ > processes) && credit_ > 0;
  }
  // Reports a spin that was made. `found` is true if there was work before its time was over.
  void spun(bool found) { credit_ = found ? grown() : credit_ - 1; }
  // Reports a sleep of this length: a spin would have avoided a short one.
  void slept(std::uint64_t ns) {
    if (ns < spin_ns()) credit_ = grown();
  }

 private:
  static constexpr int kMax = 16;
  int grown() const { return credit_ < kMax ? credit_ + 1 : kMax; }

  std::size_t processors_;
  bool alone_ = false;
  std::uint64_t switches_ = 0;
  // Grows with each spin that helps or would have helped, and shrinks with each in vain.
  int credit_ = 0;
};

}  // namespace scela::hca
