#include "collectives/executors/thread_placement.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <tuple>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

// A core, or a processor of a core, on which no rank runs.
struct Seat {
  Processor first;
  CpuSet cpus;
  std::uint32_t threads = 0;
};

std::vector<Seat> seats_of(const Topology& machine, const CpuSet& taken, Level level) {
  std::map<std::uint32_t, Seat> seats;
  for (const Processor& processor : machine.processors()) {
    Seat& seat = seats[processor.at(level)];
    if (seat.cpus.empty()) seat.first = processor;
    seat.cpus.add(processor.cpu);
  }
  std::vector<Seat> idle;
  for (auto& [number, seat] : seats)
    if (!seat.cpus.intersects(taken)) idle.push_back(std::move(seat));
  return idle;
}

// Returns the distance of two processors: 0 on one core, 4 on different sockets. The fewer levels
// of the machine they share, the larger it is.
int distance(const Processor& a, const Processor& b) {
  if (a.core == b.core) return 0;
  if (a.l3 == b.l3 && a.l3 != kNoObject) return 1;
  if (a.numa == b.numa) return 2;
  return a.socket == b.socket ? 3 : 4;
}

std::uint32_t apart(std::uint32_t a, std::uint32_t b) {
  return a > b ? a - b : b - a;
}

std::string words_of(const Topology& machine, const Seat& seat, const CpuSet& rank, Level level) {
  std::string why =
      cat(machine.place_of(seat.cpus), " (processors ", seat.cpus.text(), "), the nearest idle ",
          level == Level::core ? "core" : "processor", " to processors ", rank.text());
  if (seat.threads > 1) why += ", which other ranks' threads have too";
  return why;
}

const Processor* first_of(const Topology& machine, const CpuSet& cpus) {
  for (const Processor& processor : machine.processors())
    if (cpus.contains(processor.cpu)) return &processor;
  return nullptr;
}

}  // namespace

std::vector<ThreadPlace> places_of_threads(const Topology& machine,
                                           const std::vector<CpuSet>& ranks) {
  CpuSet taken;
  for (const CpuSet& rank : ranks)
    taken.add(rank);
  Level level = Level::core;
  std::vector<Seat> seats = seats_of(machine, taken, level);
  if (seats.empty()) {
    level = Level::hwthread;
    seats = seats_of(machine, taken, level);
  }
  std::vector<ThreadPlace> places;
  for (const CpuSet& rank : ranks) {
    const Processor* const own = first_of(machine, rank);
    if (own == nullptr) {
      places.push_back({{}, false, "its rank's processors are not of this machine"});
      continue;
    }
    if (seats.empty()) {
      places.push_back(
          {rank, false, cat("processors ", rank.text(), ", its rank's own: no core is idle")});
      continue;
    }
    Seat& best = *std::ranges::min_element(seats, {}, [&](const Seat& seat) {
      return std::make_tuple(seat.threads, distance(*own, seat.first),
                             apart(own->core, seat.first.core), seat.first.core, seat.first.cpu);
    });
    ++best.threads;
    places.push_back({best.cpus, true, words_of(machine, best, rank, level)});
  }
  return places;
}

}  // namespace scela::collectives
