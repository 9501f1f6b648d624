// Looks up hosts in separate threads, so that a slow name service (it may take seconds) never
// blocks the event loop. Spawning (launcher/spawn/spawning.h) uses it for hosts on which ranks are
// spawned.
//
// Each call of find() gets a thread of its own. If the session ends first, the thread is left
// behind; it holds no reference to the session. All calls are made, and `found` is called, in the
// loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/io/watched.h"
#include "launcher/plan/plan.h"

namespace scela {

// Looks up hosts for one session.
class HostFinder {
 public:
  // Blocks, and returns for each of the hosts how it is reached, or why it cannot be
  // (HostContacts::find_later).
  using Find = std::function<std::vector<HostLookup>(const std::vector<std::string>& hosts)>;
  // Gets the results of one or several calls of find().
  using Found = std::function<void(const std::vector<HostLookup>& hosts)>;

  // `io` is the event loop and must outlive this object. `find` runs in other threads, so it must
  // not use data of the session.
  HostFinder(boost::asio::io_context& io, Find find, Found found);
  ~HostFinder();
  HostFinder(const HostFinder&) = delete;
  HostFinder& operator=(const HostFinder&) = delete;

  // Starts to look up these hosts and returns at once. `found` gets each host once, with a reason
  // if it cannot be looked up. If no thread can be started, `found` is called from within this
  // call.
  void find(const std::vector<std::string>& hosts);
  // No answer is delivered after this call.
  void close();

 private:
  // The data that the threads share with the loop: the answers, and a descriptor that becomes
  // readable if there are new ones.
  struct Answers;
  // Asks the loop for a call once the descriptor is readable. That call takes the answers and
  // listens again.
  void listen();

  boost::asio::io_context& io_;
  const Find find_;
  const Found found_;
  std::shared_ptr<Answers> answers_;
  std::unique_ptr<Watched> doorbell_;
};

}  // namespace scela
