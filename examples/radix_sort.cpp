// Sorts keys that are spread over all ranks, digit by digit, with collective operations of ScELA.
// An allgather tells every rank how many keys of each digit every rank has. Alltoallvs move the
// keys to their ranks. The program sorts twice. The first time it waits for each operation at once;
// the second time the operations go on while the rank works:
//
//   count keys by digit          | their allgather goes on while
//   bring own keys into order    |   own keys are brought into order
//   allgather the counts         |
//   exchange the keys            | in several parts, all under way: while the next ones come,
//   put them into their places   |   those of a part are put into place, and counted for the next
//   digit
//
// The program checks that the result is in order and has the same keys as before. One line says how
// long both sorts took (medians of all rounds), and how much the second saves.
//
//   g++ -std=c++20 -O2 -o radix_sort radix_sort.cpp $(pkg-config --cflags --libs libscela)
//   scela-run -n 4 ./radix_sort
//   scela-run --sim-nodes 2 --ppn 2 ./radix_sort --keys 65536 --bits 8 --data few
//
//   --keys N      keys of each rank, on average (65536)
//   --bits D      bits of a digit, 1 to 16 (8); keys have 32
//   --data WORD   random; sorted; few (of 5 values); uneven (every second rank has none)
//   --mode WORD   both; overlapped; plain
//   --parts N     parts of an overlapped exchange (4)
//   --rounds N    rounds that are timed, of each mode (5)
//   --run-by WORD polled; thread; at-once: the executor (at-once overlaps nothing)
//
// The manual page scela_communicator (man scela_communicator) has every call.
#include <scela/channel.h>
#include <scela/communicator.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using scela::Collective;
using scela::Communicator;
using scela::Part;
using scela::Request;
using Key = std::uint32_t;
using Counts = std::vector<std::uint64_t>;

constexpr unsigned kKeyBits = 32;
constexpr std::size_t kKeysBetweenTests = 4096;
constexpr std::uint64_t kMaxForComparison = std::uint64_t{1} << 22;

struct Settings {
  std::size_t keys = 65536;
  unsigned bits = 8;
  std::string data = "random";
  std::string mode = "both";
  std::size_t parts = 4;
  int rounds = 5;
  std::string progress = "polled";
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "radix_sort: %s\n", why.c_str());
  std::exit(1);  // the launcher ends the others
}

void require(const scela::Status& status) {
  if (!status.ok()) fail(status.message());
}

// ---- the sort ----

class Sorter {
 public:
  Sorter(Communicator& world, const Settings& settings, bool overlapped)
      : world_(world),
        ranks_(static_cast<std::size_t>(world.size())),
        rank_(static_cast<std::size_t>(world.rank())),
        bits_(settings.bits),
        digits_(std::size_t{1} << settings.bits),
        parts_(overlapped ? settings.parts : 1),
        overlapped_(overlapped) {}

  // Sorts the keys of all ranks. Afterwards the ranks' numbers of keys differ by at most one, and
  // the keys of rank 0 come first.
  void sort(std::vector<Key>& keys) {
    count(keys, 0);
    for (unsigned shift = 0; shift < kKeyBits; shift += bits_)
      pass(keys, shift);
  }

 private:
  std::size_t digit(Key key, unsigned shift) const { return key >> shift & (digits_ - 1); }

  void count(const std::vector<Key>& keys, unsigned shift) {
    counts_.assign(digits_, 0);
    for (const Key key : keys)
      ++counts_[digit(key, shift)];
  }

  void pass(std::vector<Key>& keys, unsigned shift) {
    all_counts_.resize(ranks_ * digits_);
    const Collective exchange = Collective::allgather(counts_, all_counts_);
    if (overlapped_) {
      Request request = world_.start(exchange);
      order(keys, shift, request);
      require(request.wait());
    } else {
      Request none;
      order(keys, shift, none);
      require(world_.run(exchange));
    }
    place();
    keys.resize(last_ - first_);
    move(keys, shift);
  }

  // Orders this rank's keys by digit.
  void order(const std::vector<Key>& keys, unsigned shift, Request& meanwhile) {
    Counts next(digits_);
    for (std::size_t i = 1; i < digits_; ++i)
      next[i] = next[i - 1] + counts_[i - 1];
    ordered_.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ordered_[next[digit(keys[i], shift)]++] = keys[i];
      if (i % kKeysBetweenTests == 0) meanwhile.test();  // moves messages
    }
  }

  // Computes where, in the order of all keys, the keys of each rank and digit begin. From that it
  // computes how many keys this rank sends to each rank and receives from it.
  void place() {
    begins_.resize(ranks_ * digits_);
    std::uint64_t total = 0;
    for (std::size_t d = 0; d < digits_; ++d) {
      for (std::size_t r = 0; r < ranks_; ++r) {
        begins_[r * digits_ + d] = total;
        total += all_counts_[r * digits_ + d];
      }
    }
    const auto border = [&](std::size_t rank) { return total * rank / ranks_; };
    first_ = border(rank_);
    last_ = border(rank_ + 1);
    to_.assign(ranks_, 0);
    from_.assign(ranks_, 0);
    for (std::size_t other = 0; other < ranks_; ++other) {
      to_[other] = between(rank_, border(other), border(other + 1));
      from_[other] = between(other, first_, last_);
    }
  }

  // Returns how many of a rank's keys belong to the places of a range.
  std::uint64_t between(std::size_t rank, std::uint64_t from, std::uint64_t to) const {
    std::uint64_t sum = 0;
    for (std::size_t d = 0; d < digits_; ++d) {
      const std::uint64_t begin = begins_[rank * digits_ + d];
      const std::uint64_t end = begin + all_counts_[rank * digits_ + d];
      if (std::max(begin, from) < std::min(end, to))
        sum += std::min(end, to) - std::max(begin, from);
    }
    return sum;
  }

  // Returns the parts of one exchange, by rank. The keys for a rank, or from it, are contiguous,
  // and each exchange has one section of them.
  std::vector<Part> cut(const Counts& counts, std::size_t part) const {
    std::vector<Part> cuts(ranks_);
    std::uint64_t offset = 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      const std::uint64_t begin = counts[r] * part / parts_;
      cuts[r] = {counts[r] * (part + 1) / parts_ - begin, offset + begin};
      offset += counts[r];
    }
    return cuts;
  }

  void move(std::vector<Key>& keys, unsigned shift) {
    arrived_.resize(keys.size());
    std::vector<std::vector<Part>> arrivals;
    std::vector<Request> requests;
    for (std::size_t part = 0; part < parts_; ++part) {
      arrivals.push_back(cut(from_, part));
      const Collective exchange =
          Collective::alltoallv(ordered_, cut(to_, part), arrived_, arrivals.back());
      if (overlapped_)
        requests.push_back(world_.start(exchange));
      else
        require(world_.run(exchange));
    }
    // next_ has the place of the next key of each rank and digit. Keys that went to ranks before
    // this one are left out.
    next_ = begins_;
    for (std::uint64_t& next : next_)
      next = std::max(next, first_);
    counts_.assign(digits_, 0);
    for (std::size_t part = 0; part < parts_; ++part) {
      if (overlapped_) require(requests[part].wait());
      Request none;
      put(keys, arrivals[part], shift, part + 1 < requests.size() ? requests[part + 1] : none);
    }
    // All keys have arrived. Without overlap they are counted for the next digit here.
    if (!overlapped_) count(keys, shift + bits_ < kKeyBits ? shift + bits_ : 0);
  }

  void put(std::vector<Key>& keys, const std::vector<Part>& parts, unsigned shift,
           Request& meanwhile) {
    const unsigned next_shift = shift + bits_ < kKeyBits ? shift + bits_ : 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      std::uint64_t* const next = next_.data() + r * digits_;
      for (std::size_t i = 0; i < parts[r].count; ++i) {
        const Key key = arrived_[parts[r].offset + i];
        keys[next[digit(key, shift)]++ - first_] = key;
        if (overlapped_) ++counts_[digit(key, next_shift)];
        if (i % kKeysBetweenTests == 0) meanwhile.test();
      }
    }
  }

  Communicator& world_;
  const std::size_t ranks_;
  const std::size_t rank_;
  const unsigned bits_;
  const std::size_t digits_;
  const std::size_t parts_;
  const bool overlapped_;
  Counts counts_;            // of own keys, by digit
  Counts all_counts_;        // by rank, then digit
  Counts begins_;            // likewise
  Counts next_;              // likewise
  Counts to_;                // keys, by rank
  Counts from_;              // likewise
  std::uint64_t first_ = 0;  // the place of this rank's first key
  std::uint64_t last_ = 0;
  std::vector<Key> ordered_;
  std::vector<Key> arrived_;
};

// ---- what is sorted, and whether it is ----

std::vector<Key> make_keys(const Settings& settings, std::size_t rank) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(12345 + rank));
  std::vector<Key> keys(settings.data != "uneven" ? settings.keys
                        : rank % 2 == 0           ? 0
                                                  : 2 * settings.keys + rank);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (settings.data == "sorted")
      keys[i] = static_cast<Key>(rank * settings.keys + i);
    else if (settings.data == "few")
      keys[i] = static_cast<Key>(random() % 5) * 0x1234567;
    else
      keys[i] = static_cast<Key>(random());
  }
  return keys;
}

// Returns all keys on rank 0, and no keys on the others.
std::vector<Key> gather(Communicator& world, const std::vector<Key>& keys) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const Counts own{keys.size()};
  Counts counts(ranks);
  require(world.run(Collective::allgather(own, counts)));
  std::vector<Part> parts(ranks);
  std::size_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    parts[r] = {counts[r], total};
    total += counts[r];
  }
  std::vector<Key> all(world.rank() == 0 ? total : 0);
  require(world.run(Collective::gatherv(keys, all, parts, 0)));
  return all;
}

std::uint64_t mixed(Key key) {
  std::uint64_t x = key + 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

// Returns the number of keys, and two sums that other sets of keys almost never have.
std::vector<std::uint64_t> sums_of(Communicator& world, const std::vector<Key>& keys) {
  std::vector<std::uint64_t> own{keys.size(), 0, 0};
  for (const Key key : keys) {
    own[1] += key;
    own[2] += mixed(key);
  }
  std::vector<std::uint64_t> all(own.size());
  require(world.run(Collective::allreduce(own, all, scela::ReduceOp::sum)));
  return all;
}

void check(Communicator& world, const std::vector<Key>& before, const std::vector<Key>& after) {
  const auto sums = sums_of(world, before);
  if (sums_of(world, after) != sums) fail("other keys than before came out");
  if (!std::is_sorted(after.begin(), after.end())) fail("a rank's keys are not in order");
  // The greatest key of all ranks before this one.
  const std::vector<std::int64_t> own{after.empty() ? -1 : std::int64_t{after.back()}};
  std::vector<std::int64_t> greatest{-1};
  require(world.run(Collective::exscan(own, greatest, scela::ReduceOp::maximum)));
  if (world.rank() > 0 && !after.empty() && greatest[0] > std::int64_t{after.front()})
    fail("a rank's keys belong to one before it");
  if (sums[0] > kMaxForComparison) return;
  std::vector<Key> expected = gather(world, before);
  const std::vector<Key> got = gather(world, after);
  std::sort(expected.begin(), expected.end());
  if (got != expected) fail("it is not what std::sort makes of the keys");
}

// ---- the benchmark ----

double sort_once(Communicator& world, const Settings& settings, bool overlapped) {
  const std::vector<Key> before = make_keys(settings, static_cast<std::size_t>(world.rank()));
  std::vector<Key> keys = before;
  Sorter sorter(world, settings, overlapped);
  require(world.barrier());
  const auto begin = std::chrono::steady_clock::now();
  sorter.sort(keys);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  // The time of the slowest rank counts.
  const std::vector<double> own{took.count()};
  std::vector<double> slowest(1);
  require(world.run(Collective::allreduce(own, slowest, scela::ReduceOp::maximum)));
  check(world, before, keys);
  return slowest[0];
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::size_t number(const char* text, std::size_t least, std::size_t most) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || value < least || value > most)
    fail(std::string(text) + " is no number from " + std::to_string(least) + " to " +
         std::to_string(most));
  return value;
}

std::string one_of(const char* text, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return text;
  std::string all;
  for (const std::string& word : words)
    all += " " + word;
  fail(std::string(text) + " is none of:" + all);
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) fail(name + " needs a value; the source's first lines list all options");
    const char* const value = argv[i + 1];
    if (name == "--keys")
      settings.keys = number(value, 0, std::size_t{1} << 32);
    else if (name == "--bits")
      settings.bits = static_cast<unsigned>(number(value, 1, 16));
    else if (name == "--data")
      settings.data = one_of(value, {"random", "sorted", "few", "uneven"});
    else if (name == "--mode")
      settings.mode = one_of(value, {"both", "overlapped", "plain"});
    else if (name == "--parts")
      settings.parts = number(value, 1, 64);
    else if (name == "--rounds")
      settings.rounds = static_cast<int>(number(value, 1, 10000));
    else if (name == "--run-by")
      settings.progress = one_of(value, {"polled", "thread", "at-once"});
    else
      fail("there is no option " + name + "; the source's first lines list all");
  }
  return settings;
}

void run(Communicator& world, const Settings& settings) {
  std::vector<double> plain;
  std::vector<double> overlapped;
  // The modes take turns, so that a disturbance affects both. The first round of each is not timed.
  for (int round = 0; round <= settings.rounds; ++round) {
    for (const bool overlaps : {false, true}) {
      if (settings.mode == (overlaps ? "plain" : "overlapped")) continue;
      const double took = sort_once(world, settings, overlaps);
      if (round > 0) (overlaps ? overlapped : plain).push_back(took);
    }
  }
  if (world.rank() != 0) return;
  std::printf("radix sort of %zu keys by %u bits (%s) on %d ranks, %d nodes, %s:", settings.keys,
              settings.bits, settings.data.c_str(), world.size(), world.nodes(),
              settings.progress.c_str());
  if (!plain.empty()) std::printf(" plain %.3f ms", median(plain));
  if (!plain.empty() && !overlapped.empty()) std::printf(",");
  if (!overlapped.empty()) std::printf(" overlapped %.3f ms", median(overlapped));
  if (!plain.empty() && !overlapped.empty())
    std::printf(", %.1f %% less", 100 * (1 - median(overlapped) / median(plain)));
  std::printf("; sorted\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = settings_of(argc, argv);
  scela::ChannelOptions channel_options;
  scela::CommunicatorOptions options;
  if (settings.progress == "thread") {
    channel_options.threads = scela::Threads::multiple;
    options.progress = scela::ProgressMode::thread;
  } else if (settings.progress == "at-once") {
    options.progress = scela::ProgressMode::at_once;
  }
  const scela::Channel::Opened opened = scela::Channel::open(channel_options);
  if (!opened.channel) fail(opened.status.message());
  {
    Communicator world = Communicator::world(*opened.channel, options);
    require(world.status());
    run(world, settings);
  }
  return 0;  // the channel ends after its users
}
