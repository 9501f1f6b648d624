#include "tests/strangers/matrix/programs/coll_case.h"

namespace matrix {

namespace {

using scela::Buffer;
using scela::ConstBuffer;
using scela::kInPlace;
using scela::Part;

constexpr const char* kNames[] = {"barrier",       "bcast",      "reduce",
                                  "allreduce",     "gather",     "scatter",
                                  "allgather",     "alltoall",   "reduce_scatter_block",
                                  "scan",          "exscan",     "gatherv",
                                  "scatterv",      "allgatherv", "alltoallv",
                                  "reduce_scatter"};

template <class T>
class CaseOf final : public Case {
 public:
  CaseOf(Drawn drawn, int own, int ranks)
      : drawn_(std::move(drawn)),
        own_(own),
        ranks_(ranks),
        is_root_(drawn_.root == own),
        count_(drawn_.count),
        all_(static_cast<std::size_t>(ranks)) {
    if (drawn_.kind == alltoallv || drawn_.kind == reduce_scatter || drawn_.kind == bcast ||
        drawn_.kind == barrier)
      drawn_.in_place = false;
    const bool everywhere = drawn_.kind != reduce && drawn_.kind != gather &&
                            drawn_.kind != scatter && drawn_.kind != gatherv &&
                            drawn_.kind != scatterv;
    in_place_ = drawn_.in_place && (everywhere || is_root_);
    make_parts();
  }

  void fill(std::uint64_t round) override {
    round_ = round;
    std::vector<T> in, out, want;
    define(in, out, want);
    // Memory that has been given to an operation stays where it is.
    put(in_, in);
    put(out_, out);
    want_ = std::move(want);
  }

  Collective collective() override {
    Collective made = make();
    if (!drawn_.algorithm.empty()) made.algorithm(drawn_.algorithm);
    return made;
  }

  void check() const override {
    for (std::size_t i = 0; i < want_.size(); ++i)
      if (std::memcmp(&out_[i], &want_[i], sizeof(T)) != 0)
        failed(cat(text(), ": element ", i, " of ", want_.size(), " is another one"));
  }

  std::string text() const override {
    return cat(kNames[drawn_.kind], " by '", drawn_.algorithm, "', ", count_, " elements of ",
               sizeof(T), " bytes, rank ", own_, " of ", ranks_, ", root ", drawn_.root,
               drawn_.in_place ? ", in place" : "");
  }

 private:
  static void put(std::vector<T>& to, const std::vector<T>& from) {
    if (to.size() != from.size())
      to = from;
    else
      std::ranges::copy(from, to.begin());
  }

  T value(int rank, std::size_t element) const {
    return Of<T>::drawn(
        mix(drawn_.seed ^ mix(static_cast<std::uint64_t>(rank) * 1'000'003 + element) ^
            mix(round_)),
        rank);
  }
  static T untouched() {
    T one;
    std::memset(&one, 0x5a, sizeof one);
    return one;
  }
  // Returns how many elements go from one rank to another in the v forms; some are none.
  std::size_t elements(int from, int to) const {
    const std::uint64_t bits = mix(drawn_.seed ^ static_cast<std::uint64_t>(from * 1000 + to + 7));
    return bits % 4 == 0 ? 0 : bits % (count_ + 1);
  }
  // Places the parts one behind the other, with gaps, or in another order.
  std::vector<Part> placed(const std::vector<std::size_t>& counts, std::uint64_t seed,
                           std::size_t& total) const {
    std::mt19937_64 random(seed);
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), 0);
    const auto style = random() % 3;
    if (style == 2) std::ranges::shuffle(order, random);
    std::vector<Part> parts(counts.size());
    total = 0;
    for (const std::size_t i : order) {
      if (style != 0) total += random() % 4;
      parts[i] = {counts[i], total};
      total += counts[i];
    }
    return parts;
  }
  void make_parts() {
    std::vector<std::size_t> of_ranks, out_counts, in_counts;
    for (int rank = 0; rank < ranks_; ++rank) {
      of_ranks.push_back(elements(rank, rank));
      in_counts.push_back(elements(own_, rank));
      out_counts.push_back(elements(rank, own_));
    }
    parts_ = placed(of_ranks, drawn_.seed + 5, length_);
    in_parts_ =
        placed(in_counts, drawn_.seed + 6 + all_ * static_cast<std::size_t>(own_), in_length_);
    out_parts_ =
        placed(out_counts, drawn_.seed + 7 + all_ * static_cast<std::size_t>(own_), out_length_);
    row_.clear();
    std::size_t at = 0;
    for (const std::size_t count : of_ranks) {
      row_.push_back({count, at});
      at += count;
    }
    row_length_ = at;
  }
  std::size_t part_of(int rank) const { return parts_[static_cast<std::size_t>(rank)].count; }

  std::vector<T> values(int rank, std::size_t from, std::size_t number) const {
    std::vector<T> all;
    for (std::size_t i = 0; i < number; ++i)
      all.push_back(value(rank, from + i));
    return all;
  }
  std::vector<T> reduced(int ranks, std::size_t from, std::size_t number) const {
    std::vector<T> all = values(0, from, number);
    for (int rank = 1; rank < ranks; ++rank)
      for (std::size_t i = 0; i < number; ++i)
        all[i] = Of<T>::combined(all[i], value(rank, from + i));
    return all;
  }
  static void copy(const std::vector<T>& from, std::vector<T>& to, std::size_t at) {
    std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // Defines the caller's input, its output before the call, and the output at the end as far as
  // that is specified.
  void define(std::vector<T>& in, std::vector<T>& out, std::vector<T>& want) const {
    if (drawn_.kind >= gatherv) return define_parts(in, out, want);
    const auto at = static_cast<std::size_t>(own_) * count_;
    switch (drawn_.kind) {
      case bcast:
        want = values(drawn_.root, 0, count_);
        out = is_root_ ? want : std::vector<T>(count_, untouched());
        return;
      case reduce:
      case allreduce:
      case scan:
      case exscan: {
        const int upto = drawn_.kind == scan ? own_ + 1 : drawn_.kind == exscan ? own_ : ranks_;
        in = values(own_, 0, count_);
        if (drawn_.kind == reduce && !is_root_) return;
        out = in_place_ ? in : std::vector<T>(count_, untouched());
        if (upto != 0) want = reduced(upto, 0, count_);
        return;
      }
      case gather:
      case allgather:
        in = values(own_, 0, count_);
        if (drawn_.kind == gather && !is_root_) return;
        out.assign(count_ * all_, untouched());
        if (in_place_) copy(in, out, at);
        for (int rank = 0; rank < ranks_; ++rank)
          for (const T& one : values(rank, 0, count_))
            want.push_back(one);
        return;
      case scatter:
        if (is_root_) in = values(own_, 0, count_ * all_);
        if (in_place_) return;
        out.assign(count_, untouched());
        want = values(drawn_.root, at, count_);
        return;
      case alltoall:
        in = values(own_, 0, count_ * all_);
        out = in_place_ ? in : std::vector<T>(count_ * all_, untouched());
        for (int rank = 0; rank < ranks_; ++rank)
          for (const T& one : values(rank, at, count_))
            want.push_back(one);
        return;
      case reduce_scatter_block:
        in = values(own_, 0, count_ * all_);
        out = in_place_ ? in : std::vector<T>(count_, untouched());
        want = reduced(ranks_, at, count_);
        return;
      default:
        return;
    }
  }

  void define_parts(std::vector<T>& in, std::vector<T>& out, std::vector<T>& want) const {
    const auto own = static_cast<std::size_t>(own_);
    switch (drawn_.kind) {
      case gatherv:
      case allgatherv:
        in = values(own_, 0, part_of(own_));
        if (drawn_.kind == gatherv && !is_root_) return;
        out.assign(length_, untouched());
        want = out;
        if (in_place_) copy(in, out, parts_[own].offset);
        for (int rank = 0; rank < ranks_; ++rank)
          copy(values(rank, 0, part_of(rank)), want, parts_[static_cast<std::size_t>(rank)].offset);
        return;
      case scatterv:
        if (is_root_) in.assign(length_, untouched());
        for (int rank = 0; rank < ranks_ && is_root_; ++rank)
          copy(values(rank, 0, part_of(rank)), in, parts_[static_cast<std::size_t>(rank)].offset);
        if (in_place_) return;
        out.assign(part_of(own_), untouched());
        want = values(own_, 0, part_of(own_));
        return;
      case alltoallv:
        in.assign(in_length_, untouched());
        out.assign(out_length_, untouched());
        want = out;
        for (int rank = 0; rank < ranks_; ++rank) {
          const auto there = static_cast<std::size_t>(rank);
          copy(values(own_, there * 100'000, in_parts_[there].count), in, in_parts_[there].offset);
          copy(values(rank, own * 100'000, out_parts_[there].count), want,
               out_parts_[there].offset);
        }
        return;
      default:
        in = values(own_, 0, row_length_);
        out.assign(row_[own].count, untouched());
        want = reduced(ranks_, row_[own].offset, row_[own].count);
    }
  }

  Collective make() {
    const Buffer out = Of<T>::view(out_);
    const ConstBuffer in = in_place_ && drawn_.kind != scatter && drawn_.kind != scatterv
                               ? ConstBuffer(kInPlace)
                               : ConstBuffer(Of<T>::view(in_));
    const scela::Reducer by = Of<T>::reducer();
    const std::vector<Part> parts = is_root_ ? parts_ : std::vector<Part>();
    switch (drawn_.kind) {
      case bcast:
        return Collective::bcast(out, drawn_.root);
      case reduce:
        return Collective::reduce(in, is_root_ ? out : Buffer(), by, drawn_.root);
      case allreduce:
        return Collective::allreduce(in, out, by);
      case gather:
        return Collective::gather(in, is_root_ ? out : Buffer(), drawn_.root);
      case scatter:
        return Collective::scatter(in, in_place_ ? Buffer() : out, drawn_.root);
      case allgather:
        return Collective::allgather(in, out);
      case alltoall:
        return Collective::alltoall(in, out);
      case reduce_scatter_block:
        return Collective::reduce_scatter_block(in, out, by);
      case scan:
        return Collective::scan(in, out, by);
      case exscan:
        return Collective::exscan(in, out, by);
      case gatherv:
        return Collective::gatherv(in, is_root_ ? out : Buffer(), parts, drawn_.root);
      case scatterv:
        return Collective::scatterv(in, parts, in_place_ ? Buffer() : out, drawn_.root);
      case allgatherv:
        return Collective::allgatherv(in, out, parts_);
      case alltoallv:
        return Collective::alltoallv(in, in_parts_, out, out_parts_);
      case reduce_scatter:
        return Collective::reduce_scatter(in, out, row_, by);
      default:
        return Collective::barrier();
    }
  }

  Drawn drawn_;
  const int own_, ranks_;
  const bool is_root_;
  const std::size_t count_, all_;
  bool in_place_ = false;
  std::uint64_t round_ = 0;
  std::vector<Part> parts_, in_parts_, out_parts_, row_;
  std::size_t length_ = 0, in_length_ = 0, out_length_ = 0, row_length_ = 0;
  std::vector<T> in_, out_, want_;
};

}  // namespace

const char* name_of(int kind) {
  return kNames[kind];
}

bool commutes(unsigned type) {
  return type % 6 != 5;
}

std::unique_ptr<Case> case_of(const Drawn& drawn, unsigned type, int own, int ranks) {
  switch (type % 6) {
    case 0:
      return std::make_unique<CaseOf<std::uint8_t>>(drawn, own, ranks);
    case 1:
      return std::make_unique<CaseOf<std::int32_t>>(drawn, own, ranks);
    case 2:
      return std::make_unique<CaseOf<std::uint64_t>>(drawn, own, ranks);
    case 3:
      return std::make_unique<CaseOf<double>>(drawn, own, ranks);
    case 4:
      return std::make_unique<CaseOf<Place>>(drawn, own, ranks);
    default:
      return std::make_unique<CaseOf<Matrix>>(drawn, own, ranks);
  }
}

}  // namespace matrix
