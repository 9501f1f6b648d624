// Registered memory for messages: from a cache if that is safe, otherwise for each message.
//
// The cache is safe if a registration is found only while its addresses are the memory that was
// registered. A MemoryWatch tells when they are not, and proves first that it does. If it cannot,
// no registration is kept, and why() says why. SCELA_CHANNEL_REGISTRATION_CACHE=0 turns the cache
// off too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm-channel/core/protocol/registration_map.h"
#include "comm-channel/verbs/memory_watch.h"
#include "comm-channel/verbs/verbs_handles.h"
#include "common/core/result.h"

namespace scela::channel::verbs {

class Registrations;

// One use of registered memory. It must end before its Registrations.
class Registration {
 public:
  Registration() = default;
  Registration(Registration&& other) noexcept { *this = std::move(other); }
  Registration& operator=(Registration&& other) noexcept;
  ~Registration() { reset(); }
  std::uint32_t lkey() const { return lkey_; }
  std::uint32_t rkey() const { return rkey_; }
  explicit operator bool() const { return owner_ != nullptr; }
  // Ends the use; the keys must not be used any more.
  void reset();
  // Has the memory deregistered once nothing uses it. Other processes know its key, and could
  // reach it when it belongs to the program again.
  void keep_not() { kept_ = false; }

 private:
  friend class Registrations;
  Registrations* owner_ = nullptr;
  bool kept_ = true;
  RegistrationMap::Id id_ = 0;
  std::uint32_t lkey_ = 0, rkey_ = 0;
};

// The registered memory of one protection domain. Any thread may call it.
class Registrations {
 public:
  // `max_unused` is the number of bytes that stay registered although they are not in use.
  Registrations(const Symbols& symbols, const Pd& pd, std::uint64_t max_unused);
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  enum class For : unsigned char {
    sending,   // read by this device only
    transfer,  // also written, and reached by others
  };
  // Registers the memory, or finds it registered. Memory that may only be read can be registered
  // with For::sending only.
  Result<Registration> get(void* address, std::size_t bytes, For what);
  // Deregisters memory that is no longer mapped; it costs little if there is nothing new. It is for
  // callers with nothing better to do, since get() does it too.
  void settle();

  // Returns why registrations are not cached, or an empty string if they are.
  const std::string& why() const { return why_; }
  // found: uses of a kept registration. made: new ones. given_back: deregistered ones.
  struct Counts {
    std::uint64_t found = 0, made = 0, given_back = 0, gone = 0;  // gone: by news
    std::uint64_t bytes = 0;                                      // registered now
  };
  Counts counts() const;

 private:
  friend class Registration;
  using Range = RegistrationMap::Range;
  // Returns a handle for a registration, after its use was counted. The caller holds the mutex.
  Registration use(RegistrationMap::Id id);
  // Ends a use. With `kept` false, the registration is not found any more.
  void release(RegistrationMap::Id id, bool kept);
  // Takes the news of the watch, so that changed memory is not found. The caller holds the mutex.
  void take_news();
  // Returns whether a registration of the range may stay without a use.
  bool may_keep(const Range& range) const;
  // Stops the watch of the range, unless another registration needs it. The caller holds the mutex.
  void forget(const Range& range);
  struct Kept {
    Mr mr;
    Range range;
    bool watched = false;
  };
  // Returns what must be deregistered. The caller destroys it after it has released the mutex.
  std::vector<Kept> take_dropped();
  struct Looked {  // when the watch of a range began
    std::uint64_t generation = 0, forgotten = 0;
    bool watched = false;
  };
  // Adds a new region. It is kept if its memory did not change since `looked`.
  Registration enter(Mr mr, const Range& range, const Looked& looked);

  const Symbols& symbols_;
  const Pd& pd_;
  std::unique_ptr<MemoryWatch> watch_;
  std::string why_;
  mutable std::mutex mutex_;  // guards all that follows
  RegistrationMap map_;
  std::unordered_map<RegistrationMap::Id, Kept> regions_;
  std::uint64_t generation_ = 0;  // of the news that were taken
  std::uint64_t forgotten_ = 0;   // counts ranges not watched any more
  // Ranges that madvise emptied, at a moment that is unknown: they are not kept any more.
  std::vector<Range> emptied_;
  bool too_many_emptied_ = false;
  Counts counts_;
};

}  // namespace scela::channel::verbs
