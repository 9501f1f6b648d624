// The turn of the ssh sessions of one process to authenticate. Sessions and the spawner use it, on
// the loop's thread.
#pragma once

#include <functional>
#include <vector>

namespace scela::nla {

// Lets the first session of a process authenticate alone. The others wait for its result, while
// their key exchange goes on. So a process that may not start agents learns it once, not once per
// host.
class AuthGate {
 public:
  // `once` is true for an agent: if its first session is refused, the gate closes. Otherwise the
  // gate is always open.
  explicit AuthGate(bool once) : open_(!once) {}
  // Asks to authenticate. Calls `go(true)` at once for the first session, and for others when the
  // result is known. `go(false)` says that the session must not try.
  void enter(std::function<void(bool)> go);
  // Takes the result of a session that got `go(true)`.
  void answer(bool accepted);
  // Call it if such a session ends without a result. The next one tries.
  void left();
  // Returns true if the first session was refused, so that no other may try.
  bool closed() const { return closed_; }

 private:
  // Calls all waiting sessions.
  void release(bool go);
  bool open_;
  bool closed_ = false;
  bool trying_ = false;  // a session authenticates
  std::vector<std::function<void(bool)>> waiting_;
};

}  // namespace scela::nla
