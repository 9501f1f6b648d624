#include <algorithm>
#include <vector>

#include "collectives/algorithms/alltoall/alltoall.h"
#include "collectives/algorithms/alltoall/exchanged_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Scratch has three areas: all blocks, ordered by how far they have to go; what is sent in a round;
// and what is received in it.
class Bruck {
 public:
  Bruck(const Shape& shape, int rank)
      : shape_(shape), rank_(rank), places_(shape, rank), area_(shape.ranks) {}
  TaskList list();

 private:
  // Returns the blocks that move `digit` x `distance` on in this round, as runs of places.
  struct Stretch {
    int first = 0;
    int count = 0;
  };
  std::vector<Stretch> moving(std::int64_t distance, std::uint32_t digit) const;
  void round(std::int64_t distance);
  int behind(std::int64_t i) const {
    return static_cast<int>((rank_ - i + shape_.ranks) % shape_.ranks);
  }
  int ahead(std::int64_t i) const { return static_cast<int>((rank_ + i) % shape_.ranks); }
  Blocks place(int first, int count) const {
    return scratch(static_cast<std::uint32_t>(first) * shape_.segments,
                   static_cast<std::uint32_t>(count) * shape_.segments);
  }

  Writer list_;
  Shape shape_;
  int rank_;
  ExchangedPlaces places_;
  int area_;
};

std::vector<Bruck::Stretch> Bruck::moving(std::int64_t distance, std::uint32_t digit) const {
  std::vector<Stretch> runs;
  for (std::int64_t first = digit * distance; first < shape_.ranks;
       first += distance * shape_.radix) {
    const auto count = std::min<std::int64_t>(distance, shape_.ranks - first);
    runs.push_back({static_cast<int>(first), static_cast<int>(count)});
  }
  return runs;
}

void Bruck::round(std::int64_t distance) {
  struct Message {
    std::int64_t distance;
    int first;  // place in the areas for sends, receives
    int count;
    std::vector<Stretch> runs;
  };
  std::vector<Message> messages;
  int used = 0;
  for (std::uint32_t digit = 1; digit < shape_.radix && digit * distance < shape_.ranks; ++digit) {
    Message message{digit * distance, used, 0, moving(distance, digit)};
    for (const Stretch& run : message.runs)
      message.count += run.count;
    used += message.count;
    messages.push_back(message);
  }
  for (const Message& each : messages)
    list_.receive(behind(each.distance), place(2 * area_ + each.first, each.count));
  for (const Message& each : messages) {
    int next = area_ + each.first;
    for (const Stretch& run : each.runs) {
      list_.copy(place(run.first, run.count), place(next, run.count));
      next += run.count;
    }
    list_.send(ahead(each.distance), place(area_ + each.first, each.count));
  }
  for (const Message& each : messages) {
    list_.wait_received(behind(each.distance), 1);
    int next = 2 * area_ + each.first;
    for (const Stretch& run : each.runs) {
      list_.copy(place(next, run.count), place(run.first, run.count));
      next += run.count;
    }
  }
  list_.wait_all_sent();
}

TaskList Bruck::list() {
  places_.begin(list_);
  if (!shape_.in_place) {
    for (int i = 1; i < shape_.ranks; ++i)
      list_.copy(places_.given_to(ahead(i)), place(i, 1));
  }
  for (std::int64_t distance = 1; distance < shape_.ranks; distance *= shape_.radix)
    round(distance);
  // A block that has moved i ranks is from the rank i behind.
  for (int i = 1; i < shape_.ranks; ++i)
    list_.copy(place(i, 1), places_.from(behind(i)));
  return places_.done(list_, 3 * static_cast<std::uint32_t>(area_) * shape_.segments);
}

}  // namespace

TaskList alltoall_bruck(const Shape& shape, int rank) {
  return Bruck(shape, rank).list();
}

}  // namespace scela::collectives
