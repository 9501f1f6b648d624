// The world in which explorers and random runs play: processes with their connection machines, a
// device that makes queue pairs, and datagrams on their way. A value.
//
// The device knows which process made, opened and connected each queue pair, and what goes when a
// process dies. So it can judge what the machines believe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm-channel/core/connect/connection_machine.h"

namespace scela::channel::connect::test {

struct Datagram {
  std::uint32_t to = 0;
  std::string bytes;
  friend auto operator<=>(const Datagram&, const Datagram&) = default;
};

// A queue pair of the device, or a handle of one.
struct DeviceQp {
  enum class Kind : std::uint8_t { none, send, receive };
  Kind kind = Kind::none;
  bool connected = false;  // a send queue pair is in RTS
  // The number of the queue pair, if this is a receive one. Other processes may have it open too.
  std::uint32_t number = 0;
  std::uint32_t far = 0;  // the other end's number
};

// A receive queue pair of a node.
struct Target {
  std::uint32_t number = 0, far = 0, maker = 0, node = 0, holders = 0;
};

enum class Outcome : std::uint8_t { unasked, wanted, ready, lost, failed };

struct Process {
  Process(const PeerAddress& card, const Options& options) : machine(card, options) {}
  Machine machine;
  std::uint32_t node = 0;
  bool dead = false, left = false, leaving = false;
  Time clock{};
  std::uint32_t numbers = 0;           // queue pairs that the device has made for it
  std::vector<DeviceQp> qps;           // by QpId
  std::vector<Outcome> outcomes;       // by peer
  std::vector<Failure> failures;       // by peer, if the outcome is failed
  std::vector<std::uint8_t> draining;  // by peer
  std::vector<std::uint8_t> told;      // by peer: this process knows its end
  bool gone() const { return dead || left; }
};

// Notes the changes of states that were seen, for the table.
class Transitions {
 public:
  void note(int object, int from, int event, int to) {
    seen_[index(object, from, event, to)] = true;
  }
  // Returns one line for each object and state, with the next states and their events.
  std::string text() const;

 private:
  static std::size_t index(int object, int from, int event, int to) {
    return static_cast<std::size_t>(((object * 9 + from) * 20 + event) * 9 + to);
  }
  std::vector<bool> seen_ = std::vector<bool>(4 * 9 * 20 * 9);
};

struct World {
  // Makes one process on each of these nodes. Each process knows all processes, itself too, and its
  // peers have the processes' numbers.
  World(const std::vector<std::uint32_t>& nodes, const Options& options);

  void give(std::uint32_t number, const Event& event);
  void deliver(std::size_t index, bool keep = false);
  void die(std::uint32_t number);
  // Returns true if the far end of a send queue pair exists and its own far end is this queue pair.
  bool is_alive(std::uint32_t number, QpId id) const;
  // Returns what is wrong about the machines' beliefs, or an empty string. Deaths excuse some of it
  // until each process has been told and nothing is on its way.
  std::string judge(bool at_rest) const;
  std::size_t queue_pairs() const;  // all queue pairs of the device

  Mode mode = Mode::shared;
  std::vector<Process> processes;
  std::vector<Target> targets;
  std::vector<Datagram> network;
  // This many of the next queue pairs cannot be made.
  std::uint8_t failing = 0;
  bool failed_once = false, died_once = false;
  // This many of the next queue pairs are connected by connect_late() only.
  std::uint8_t late = 0;
  std::vector<std::pair<std::uint32_t, action::ConnectQp>> connected_late;
  void connect_late();
  Transitions* transitions = nullptr;

 private:
  void tell(std::uint32_t number, const Event& event);
  void carry_out(std::uint32_t number, const Action& action);
  void create(std::uint32_t number, QpId qp, const action::CreateReceiveQp* receive);
  void open(std::uint32_t number, const action::OpenReceiveQp& open);
  void connect(std::uint32_t number, const action::ConnectQp& connect);
  void close(std::uint32_t number, QpId qp);
  std::string judge_route(std::uint32_t number, PeerId peer, bool at_rest) const;
  std::string judge_hold(std::uint32_t number, PeerId peer) const;
};

}  // namespace scela::channel::connect::test
