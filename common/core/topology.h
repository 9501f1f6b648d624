// The processors of one node and what they share: cores, L3 caches, NUMA domains, sockets.
//
// A processor (hardware thread) has the operating system's number; everything else is numbered from
// 0 in the order in which it stands in the machine: socket, NUMA domain, L3 cache, core, thread,
// each by its lowest processor. Numbers count everything that is on line, also what this job may
// not use, so that they mean the same to every job of a node.
//
// Values only: who reads a machine is common/os/topology.h. Nothing here takes one kind to lie
// within another: an object is the set of processors that have its number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"

namespace scela {

using CpuSet = RankSet;  // processors, by the operating system's numbers

inline constexpr std::uint32_t kNoObject = UINT32_MAX;
// More processors than any kernel is built for: their numbers are below it.
inline constexpr std::uint32_t kMostCpus = 65536;

// What processors can be grouped by, from small to large.
enum class Level : std::uint8_t { hwthread, core, l3, numa, socket, node };
std::string_view name_of(Level level);    // "core"
std::string_view plural_of(Level level);  // "cores"

struct Processor {
  std::uint32_t cpu = 0;
  std::uint32_t thread = 0;  // of its core
  std::uint32_t core = 0;
  std::uint32_t l3 = kNoObject;  // kNoObject: the machine does not tell of one
  std::uint32_t numa = 0;
  std::uint32_t socket = 0;
  std::uint32_t core_of_socket = 0;  // its core's number there
  // Its number of that kind; 0 for node, cpu for hwthread.
  std::uint32_t at(Level level) const;
  friend bool operator==(const Processor&, const Processor&) = default;
};

// Why a job may not use every processor of its node.
enum class Restriction : std::uint8_t { none, affinity, cgroup, share };

class Topology {
 public:
  Topology() = default;
  // Processors as a machine tells of them: objects may have any numbers, those within others
  // (thread, core_of_socket) are ignored.
  static Topology from(std::vector<Processor> processors);

  // Those that may be used, in the machine's order.
  const std::vector<Processor>& processors() const { return processors_; }
  std::uint32_t online() const { return online_; }  // of the machine
  Restriction restriction() const { return restriction_; }

  CpuSet cpus() const;
  std::uint32_t count(Level level) const;  // of what may be used; 0: there is no such thing
  bool has(Level level) const;             // all of its processors have one
  bool empty() const { return processors_.empty(); }

  // The same machine with these processors only. A second restriction's reason replaces the first's
  // if it takes anything away.
  Topology restricted(const CpuSet& to, Restriction why) const;
  // The index-th (modulo `count`) of `count` equal parts, contiguous in the machine's order, sizes
  // differing by at most one; with more parts than processors each gets one, in turn.
  Topology share(std::uint32_t index, std::uint32_t count) const;

  // "8 cores (16 processors)", and what the rest of the machine is kept by.
  std::string text() const;
  // Where in the machine these processors are: "socket 0[core 1[hwt 0-1]]"; an empty text if
  // nowhere.
  std::string place_of(const CpuSet& cpus) const;

  // As it travels to who places ranks elsewhere (topology_bytes.cpp): equal for equal topologies,
  // and short, as machines are regular: 63 bytes for one of 64 cores.
  std::string bytes() const;
  // Error (protocol): it is none.
  static Result<Topology> parse(std::string_view bytes);
  // How many processors parse() would make of it, before anything is kept for them.
  static std::uint64_t claimed(std::string_view bytes);

  friend bool operator==(const Topology&, const Topology&) = default;

 private:
  std::vector<Processor> processors_;
  std::uint32_t online_ = 0;
  Restriction restriction_ = Restriction::none;
};

// "0x5": bit i is processor i.
std::string mask_text(const CpuSet& cpus);

}  // namespace scela
