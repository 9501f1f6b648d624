#include "common/core/placement/topology.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"

namespace scela {

namespace {

constexpr Level kGroups[] = {Level::core, Level::l3, Level::numa, Level::socket};

std::uint32_t& number_of(Processor& processor, Level level) {
  switch (level) {
    case Level::l3:
      return processor.l3;
    case Level::numa:
      return processor.numa;
    case Level::socket:
      return processor.socket;
    case Level::hwthread:
    case Level::core:
    case Level::node:
      break;
  }
  return processor.core;
}

// Replaces the numbers of a kind by `number(old)`.
template <class Number>
void renumber(std::vector<Processor>& processors, Level level, Number number) {
  for (Processor& one : processors) {
    std::uint32_t& value = number_of(one, level);
    if (value != kNoObject || level != Level::l3) value = number(value);
  }
}

std::string_view reason_of(Restriction restriction) {
  switch (restriction) {
    case Restriction::none:
      return "";
    case Restriction::affinity:
      return "the affinity that scela-run or its agent was started with allows no more";
    case Restriction::cgroup:
      return "the control group of the job (cpuset) allows no more";
    case Restriction::share:
      return "simulated nodes share out the processors of their machine";
  }
  return "";
}

// A run of cores that have the same threads.
struct CoreRun {
  std::uint32_t first;
  std::uint32_t last;
  RankSet threads;
};

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::hwthread:
      return "hardware thread";
    case Level::core:
      return "core";
    case Level::l3:
      return "L3 cache";
    case Level::numa:
      return "NUMA domain";
    case Level::socket:
      return "socket";
    case Level::node:
      return "node";
  }
  return "";
}

std::string_view plural_of(Level level) {
  switch (level) {
    case Level::hwthread:
      return "hardware threads";
    case Level::core:
      return "cores";
    case Level::l3:
      return "L3 caches";
    case Level::numa:
      return "NUMA domains";
    case Level::socket:
      return "sockets";
    case Level::node:
      return "nodes";
  }
  return "";
}

std::uint32_t Processor::at(Level level) const {
  switch (level) {
    case Level::hwthread:
      return cpu;
    case Level::core:
      return core;
    case Level::l3:
      return l3;
    case Level::numa:
      return numa;
    case Level::socket:
      return socket;
    case Level::node:
      break;
  }
  return 0;
}

Topology Topology::from(std::vector<Processor> processors) {
  Topology out;
  // Objects are numbered by their lowest processor first, which orders them, and then counted.
  for (const Level level : kGroups) {
    std::map<std::uint32_t, std::uint32_t> lowest;
    for (const Processor& one : processors) {
      const auto [at, fresh] = lowest.emplace(one.at(level), one.cpu);
      if (!fresh) at->second = std::min(at->second, one.cpu);
    }
    renumber(processors, level, [&](std::uint32_t old) { return lowest.at(old); });
  }
  std::ranges::sort(processors, [](const Processor& a, const Processor& b) {
    return std::tie(a.socket, a.numa, a.l3, a.core, a.cpu) <
           std::tie(b.socket, b.numa, b.l3, b.core, b.cpu);
  });
  for (const Level level : kGroups) {
    std::map<std::uint32_t, std::uint32_t> numbers;
    renumber(processors, level, [&](std::uint32_t old) {
      return numbers.emplace(old, static_cast<std::uint32_t>(numbers.size())).first->second;
    });
  }
  std::map<std::uint32_t, std::uint32_t> threads;
  std::map<std::uint32_t, std::uint32_t> first_cores;
  for (Processor& one : processors) {
    one.thread = threads[one.core]++;
    one.core_of_socket = one.core - first_cores.emplace(one.socket, one.core).first->second;
  }
  out.online_ = static_cast<std::uint32_t>(processors.size());
  out.processors_ = std::move(processors);
  return out;
}

CpuSet Topology::cpus() const {
  std::vector<std::uint32_t> numbers;
  for (const Processor& one : processors_)
    numbers.push_back(one.cpu);
  std::ranges::sort(numbers);
  CpuSet out;
  for (const std::uint32_t cpu : numbers)
    out.add(cpu);
  return out;
}

std::uint32_t Topology::count(Level level) const {
  std::vector<std::uint32_t> numbers;
  for (const Processor& one : processors_) {
    if (one.at(level) != kNoObject) numbers.push_back(one.at(level));
  }
  std::ranges::sort(numbers);
  const auto end = std::unique(numbers.begin(), numbers.end());
  return static_cast<std::uint32_t>(end - numbers.begin());
}

bool Topology::has(Level level) const {
  return std::ranges::none_of(processors_,
                              [&](const Processor& one) { return one.at(level) == kNoObject; });
}

Topology Topology::restricted(const CpuSet& to, Restriction why) const {
  Topology out;
  out.online_ = online_;
  for (const Processor& one : processors_) {
    if (to.contains(one.cpu)) out.processors_.push_back(one);
  }
  out.restriction_ = out.processors_.size() < processors_.size() ? why : restriction_;
  return out;
}

Topology Topology::share(std::uint32_t index, std::uint32_t count) const {
  const std::size_t have = processors_.size();
  if (count <= 1 || have == 0) return *this;
  index %= count;
  std::size_t begin = index % have;
  std::size_t end = begin + 1;
  if (count < have) {
    begin = have * index / count;
    end = have * (index + std::size_t{1}) / count;
  }
  CpuSet own;
  for (; begin < end; ++begin)
    own.add(processors_[begin].cpu);
  return restricted(own, Restriction::share);
}

std::string Topology::text() const {
  const std::uint32_t have = static_cast<std::uint32_t>(processors_.size());
  std::string out = counted(count(Level::core), "core");
  if (count(Level::core) != have) out += cat(" (", counted(have, "processor"), ")");
  if (restriction_ == Restriction::none) return out;
  return out + cat(", cpus ", cpus().text(), " of ", online_, ": ", reason_of(restriction_));
}

std::string Topology::place_of(const CpuSet& cpus) const {
  std::map<std::uint32_t, std::map<std::uint32_t, RankSet>> sockets;  // core to threads
  for (const Processor& one : processors_) {
    if (cpus.contains(one.cpu)) sockets[one.socket][one.core].add(one.thread);
  }
  std::string out;
  for (const auto& [socket, cores] : sockets) {
    std::vector<CoreRun> runs;
    for (const auto& [core, threads] : cores) {
      if (!runs.empty() && runs.back().last + 1 == core && runs.back().threads == threads) {
        runs.back().last = core;
      } else {
        runs.push_back({core, core, threads});
      }
    }
    out += cat(out.empty() ? "" : " ", "socket ", socket, "[");
    for (const CoreRun& run : runs) {
      out += cat(&run == &runs.front() ? "" : ",", "core ", run.first);
      if (run.last != run.first) out += cat("-", run.last);
      out += cat("[hwt ", run.threads.text(), "]");
    }
    out += "]";
  }
  return out;
}

std::string mask_text(const CpuSet& cpus) {
  constexpr std::uint32_t kDigitBits = 4;
  if (cpus.empty()) return "0x0";
  const std::uint32_t digits = cpus.ranges().back().last / kDigitBits + 1;
  std::string out = "0x";
  for (std::uint32_t digit = digits; digit-- > 0;) {
    unsigned value = 0;
    for (std::uint32_t bit = 0; bit < kDigitBits; ++bit) {
      if (cpus.contains(digit * kDigitBits + bit)) value |= 1u << bit;
    }
    out += "0123456789abcdef"[value];
  }
  return out;
}

}  // namespace scela
