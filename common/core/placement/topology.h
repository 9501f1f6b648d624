// The processors of one node and what they share: cores, L3 caches, NUMA domains, sockets.
// launcher/, nla/ and collectives/ use it.
//
// A processor (hardware thread) has the operating system's number. Everything else is numbered from
// 0 in the order of the machine: socket, NUMA domain, L3 cache, core, thread, each by its lowest
// processor. The numbers count everything that is on line, even what this job may not use. So they
// mean the same to every job of a node.
//
// The types are values; common/os/machine_topology.h reads a machine. This part never assumes that
// one kind is within another: an object is the set of processors that have its number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"

namespace scela {

// Processors, by the operating system's numbers.
using CpuSet = RankSet;

inline constexpr std::uint32_t kNoObject = UINT32_MAX;  // the number of an object that is missing
// More processors than any kernel is built for; their numbers are below this bound.
inline constexpr std::uint32_t kMaxCpus = 65536;

// The kinds of objects that group processors, from small to large. An object is a core, a cache and
// so on; hwthread is a single processor.
enum class Level : std::uint8_t { hwthread, core, l3, numa, socket, node };
// These return the kind as users read it, such as "core" and "cores".
std::string_view name_of(Level level);
std::string_view plural_of(Level level);

// One processor, with the numbers of the objects that it belongs to.
struct Processor {
  std::uint32_t cpu = 0;     // the operating system's number
  std::uint32_t thread = 0;  // its number within its core
  std::uint32_t core = 0;    // its core's number within the machine
  // kNoObject: the machine does not report an L3 cache.
  std::uint32_t l3 = kNoObject;
  std::uint32_t numa = 0;
  std::uint32_t socket = 0;
  std::uint32_t core_of_socket = 0;  // its core's number within the socket
  // Returns the number of the object of this kind: 0 for node, cpu for hwthread.
  std::uint32_t at(Level level) const;
  friend bool operator==(const Processor&, const Processor&) = default;
};

// The reason why a job may not use every processor of its node. affinity: the mask that the process
// was started with. cgroup: the cpuset of its control group. share: simulated nodes divide the
// machine.
enum class Restriction : std::uint8_t { none, affinity, cgroup, share };

// The processors of one node that a job may use.
class Topology {
 public:
  Topology() = default;
  // Makes a topology from processors as a machine reports them. Objects may have any numbers; the
  // numbers within others (thread, core_of_socket) are ignored.
  static Topology from(std::vector<Processor> processors);

  // Returns the processors that may be used, in the machine's order.
  const std::vector<Processor>& processors() const { return processors_; }
  // Returns the number of processors of the whole machine.
  std::uint32_t online() const { return online_; }
  // Says why not all processors of the machine may be used; none: all may.
  Restriction restriction() const { return restriction_; }

  // Returns the numbers of the processors that may be used.
  CpuSet cpus() const;
  // Returns the number of objects of this kind that have processors that may be used; 0: there are
  // none.
  std::uint32_t count(Level level) const;
  // Returns true if every processor has such an object.
  bool has(Level level) const;
  bool empty() const { return processors_.empty(); }

  // Returns the same machine with only those of its processors that are in `to`. `why` is the
  // reason, for text(). If it takes nothing away, the earlier reason stays.
  Topology restricted(const CpuSet& to, Restriction why) const;
  // Returns a simulated node's part of the machine: the index-th (modulo `count`) of `count` equal
  // parts. A part is contiguous in the machine's order, and sizes differ by at most one. If there
  // are more parts than processors, each part gets one processor, in turn.
  Topology share(std::uint32_t index, std::uint32_t count) const;

  // Returns the number of cores and processors, "8 cores (16 processors)", and why the rest of the
  // machine is not available.
  std::string text() const;
  // Returns where in the machine these processors are: "socket 0[core 1[hwt 0-1]]". The text is
  // empty if the machine has none of them.
  std::string place_of(const CpuSet& cpus) const;

  // Returns the topology as bytes, which an agent sends to scela-run. They are equal for equal
  // topologies. They are short because machines are regular: 63 bytes for 64 cores.
  std::string bytes() const;
  // Returns the topology that bytes() wrote. Error (protocol): the bytes are no topology.
  static Result<Topology> parse(std::string_view bytes);
  // Returns how many processors parse() would make of the bytes, without memory for them. A caller
  // uses it to refuse hostile bytes.
  static std::uint64_t claimed(std::string_view bytes);

  friend bool operator==(const Topology&, const Topology&) = default;

 private:
  std::vector<Processor> processors_;
  std::uint32_t online_ = 0;
  Restriction restriction_ = Restriction::none;
};

// Returns a mask in hexadecimal, such as "0x5": bit i stands for processor i.
std::string mask_text(const CpuSet& cpus);

}  // namespace scela
