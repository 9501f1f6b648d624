// Decides whether the engine looks at the doorbells for a while before it sleeps (spins). A sleep
// and a wake cost some microseconds; a processor that others need costs more. Server uses it, on
// the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::hca {

// The decision, from what earlier spins and sleeps have brought. All times are nanoseconds.
class Patience {
 public:
  // The longest spin. It is about as long as a sleep and a wake cost; longer spinning costs as much
  // as it gains.
  static constexpr std::uint64_t kSpinNs = 20'000;
  // The longest spin if no process may run on the engine's processors. Then spinning costs no
  // process anything, and saves processes from having to wake the engine.
  static constexpr std::uint64_t kSpinAloneNs = 1'000'000;

  // The engine counts as alone on its processors until others have run there more often than this.
  // It is more than 0, because the system's own threads run there too.
  static constexpr std::uint64_t kMaxSwitches = 50;

  // `processors` is the number of processors that the engine may use.
  explicit Patience(std::size_t processors) : processors_(processors) {}

  // Reports whether the engine is alone: `alone` is true if no process may run on its processors.
  // `switches` counts how often another thread has taken its processor since the engine began.
  void be_alone(bool alone, std::uint64_t switches) {
    alone_ = alone;
    switches_ = switches;
  }
  // Reports the same count again. If it has grown by more than kMaxSwitches, the engine is not
  // alone any more. Other engines may run there, which would each spin in vain.
  void switched(std::uint64_t switches) {
    if (switches - switches_ > kMaxSwitches) alone_ = false;
  }
  // Returns true if the engine is alone on its processors.
  bool is_alone() const { return alone_; }
  // Returns the longest time of one spin.
  std::uint64_t spin_ns() const { return alone_ ? kSpinAloneNs : kSpinNs; }
  // Returns true if the engine should spin now. `processes` is the number of attached processes.
  // The engine spins only if each of them, and the engine, can have a processor of its own, and if
  // spins have helped lately.
  bool spins(std::size_t processes) const {
    return (alone_ || processors_ > processes) && credit_ > 0;
  }
  // Reports a spin that was made. `found` is true if there was work before its time was over.
  void spun(bool found) { credit_ = found ? grown() : credit_ - 1; }
  // Reports a sleep of `ns` nanoseconds. After a short one the engine spins more, because a spin
  // would have avoided it.
  void slept(std::uint64_t ns) {
    if (ns < spin_ns()) credit_ = grown();
  }

 private:
  static constexpr int kMax = 16;
  // Returns the credit after a success.
  int grown() const { return credit_ < kMax ? credit_ + 1 : kMax; }

  std::size_t processors_;
  bool alone_ = false;
  std::uint64_t switches_ = 0;
  // Grows with each spin that helps or would have helped, and shrinks with each in vain.
  int credit_ = 0;
};

}  // namespace scela::hca
