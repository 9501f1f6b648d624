#include "collectives/communicator/call/arguments.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "collectives/communicator/call/reductions.h"
#include "collectives/core/definition.h"
#include "common/core/text.h"

namespace scela::collectives {

bool has_root(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

bool reduces(Operation operation) {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::reduce_scatter || operation == Operation::scan ||
         operation == Operation::exscan;
}

Code code_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::root:
      return Code::bad_root;
    case Refusal::buffer:
    case Refusal::overlap:
      return Code::bad_buffer;
    case Refusal::sizes:
    case Refusal::parts:
      return Code::bad_count;
    case Refusal::elements:
      return Code::bad_type;
    case Refusal::reduction:
      return Code::bad_reducer;
    case Refusal::freed:
      return Code::bad_communicator;
    case Refusal::memory:
      return Code::resources;
    default:
      return Code::bad_argument;
  }
}

namespace {

class Reader {
 public:
  Reader(const Collective::Inside& call, int rank, int ranks)
      : call_(call),
        rank_(rank),
        ranks_(static_cast<std::size_t>(ranks)),
        is_root_(has_root(call.operation) && rank == call.root) {}

  Arguments read() {
    if (has_root(call_.operation) &&
        (call_.root < 0 || static_cast<std::size_t>(call_.root) >= ranks_)) {
      unsure(Refusal::root,
             cat("invalid root ", call_.root, " (valid: ranks 0 to ", ranks_ - 1, ")"));
      return read_;
    }
    read_.in_place = is_in_place();
    if (call_.input.element_bytes() == 0 || call_.output.element_bytes() == 0)
      unsure(Refusal::elements, "the size of an element is 0 bytes");
    else if (!check_length("input", call_.input.count(), call_.input.element_bytes()) ||
             !check_length("output", call_.output.count(), call_.output.element_bytes()))
      return read_;
    else if (call_.has_parts)
      read_parts();
    else
      read_blocks();
    if (read_.status.ok() && reduces(call_.operation)) check_reduction();
    return read_;
  }

 private:
  // Refuses a call with sizes in doubt: no rank knows the list that the other ranks have.
  void unsure(Refusal refusal, const std::string& why) {
    if (read_.status.ok()) read_.sure = false;
    refuse(refusal, why);
  }

  void refuse(Refusal refusal, const std::string& why) {
    if (!read_.status.ok()) return;
    read_.refusal = refusal;
    read_.status =
        error_of(code_of(refusal), rank_,
                 cat(name_of_call(call_.operation, call_.has_parts), " by rank ", rank_, " of ",
                     ranks_, ": ", why, "; nothing was sent or received by this rank"));
  }

  // A length must fit into 63 bits for all ranks together. No memory is larger, and sums of larger
  // ones would wrap.
  bool check_length(const char* which, std::size_t count, std::size_t element) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (count <= kMax / ranks_ / element) return true;
    unsure(Refusal::sizes,
           cat("the ", which, " has ", count, " elements of ", element, " bytes: for ", ranks_,
               ranks_ == 1 ? " rank" : " ranks", " that is more than 2^63 - 1 bytes"));
    return false;
  }

  bool is_in_place() const {
    if (call_.operation == Operation::barrier || call_.operation == Operation::bcast) return false;
    if (call_.operation == Operation::scatter)
      return is_root_ && call_.output.data() == nullptr && call_.output.count() == 0;
    return call_.input.is_in_place() && (is_root_ || !has_root(call_.operation));
  }

  bool gives_input(const Definition& definition) const {
    return definition.inputs() > 0 && (!read_.in_place || call_.operation == Operation::scatter);
  }
  bool gets_output(const Definition& definition) const {
    return definition.outputs() > 0 && !(read_.in_place && call_.operation == Operation::scatter);
  }

  Definition definition() const {
    Shape shape;
    shape.operation = call_.operation;
    shape.ranks = static_cast<int>(ranks_);
    shape.root = call_.root;
    shape.in_place = read_.in_place;
    return Definition(shape, rank_, 1);
  }

  std::uint64_t bytes_of_one() const {
    const std::uint64_t in = call_.input.bytes();
    const std::uint64_t out = call_.output.bytes();
    // The parts have whole elements.
    const std::uint64_t in_part = call_.input.count() / ranks_ * call_.input.element_bytes();
    const std::uint64_t out_part = call_.output.count() / ranks_ * call_.output.element_bytes();
    switch (call_.operation) {
      case Operation::barrier:
        return 0;
      case Operation::reduce:
        return read_.in_place ? out : in;
      case Operation::gather:
      case Operation::allgather:
        return read_.in_place ? out_part : in;
      case Operation::scatter:
        return read_.in_place ? in_part : out;
      case Operation::alltoall:
        return out_part;
      case Operation::reduce_scatter:
        return read_.in_place ? out_part : out;
      default:
        return out;
    }
  }

  void read_blocks() {
    const Definition table = definition();
    const std::uint64_t each = bytes_of_one();
    read_.each = each;
    read_.bytes = each;
    if (reduces(call_.operation))
      read_.unit = read_.in_place || call_.operation != Operation::reduce
                       ? call_.output.element_bytes()
                       : call_.input.element_bytes();
    const bool gives = gives_input(table);
    const bool gets = gets_output(table);
    if (gives) {
      read_.input = BlockSizes::equal(table.inputs(), each);
      check_size("input", call_.input.bytes(), table.inputs(), each);
    }
    if (gets) {
      read_.output = BlockSizes::equal(table.outputs(), each);
      check_size("output", call_.output.bytes(), table.outputs(), each);
    }
    if (!gets && table.outputs() > 0) read_.output = BlockSizes::equal(table.outputs(), each);
    const bool by_rank =
        call_.operation == Operation::gather || call_.operation == Operation::scatter ||
        call_.operation == Operation::allgather || call_.operation == Operation::alltoall ||
        call_.operation == Operation::reduce_scatter;
    read_.all = BlockSizes::equal(by_rank ? static_cast<std::uint32_t>(ranks_) : 1, each);
    check_buffers(gives, gets);
  }

  void check_size(const char* which, std::uint64_t has, std::uint32_t blocks, std::uint64_t each) {
    if (has == blocks * each) return;
    unsure(Refusal::sizes, cat("the ", which, " has ", has, " bytes instead of ", blocks * each,
                               ": ", blocks, blocks == 1 ? " block of " : " blocks of ", each,
                               blocks == 1 ? ", as the other buffer" : ", one for each rank"));
  }

  void check_buffers(bool gives, bool gets) {
    if (gives && call_.input.is_in_place())
      return unsure(Refusal::in_place, "the input cannot stand in the output here");
    if (gives && call_.input.data() == nullptr && call_.input.bytes() > 0)
      return refuse(Refusal::buffer, "the input is null");
    if (gets && call_.output.data() == nullptr && call_.output.bytes() > 0)
      return refuse(Refusal::buffer, "the output is null");
    if (!gives || !gets || call_.input.bytes() == 0 || call_.output.bytes() == 0) return;
    const std::less<const std::byte*> before;
    if (before(call_.input.data(), call_.output.data() + call_.output.bytes()) &&
        before(call_.output.data(), call_.input.data() + call_.input.bytes()))
      refuse(Refusal::overlap,
             "input and output overlap (if they are one buffer, pass scela::kInPlace)");
  }

  // ---- the v forms ----

  void read_parts() {
    read_.equal = false;
    const bool rooted = has_root(call_.operation);
    const bool of_input =
        call_.operation == Operation::scatter || call_.operation == Operation::reduce_scatter;
    const bool both = call_.operation == Operation::alltoall;
    if (reduces(call_.operation)) {
      read_.unit = call_.input.element_bytes();
      if (read_.in_place)
        return unsure(Refusal::in_place, "blocks of unequal sizes cannot be reduced in place");
    }
    const BlockSizes own_input = BlockSizes::equal(1, call_.input.bytes());
    const BlockSizes own_output = BlockSizes::equal(1, call_.output.bytes());
    if (rooted && !is_root_) {
      (of_input ? read_.output : read_.input) = of_input ? own_output : own_input;
      return check_buffers(!of_input, of_input);
    }
    if ((of_input || both) && !(both && read_.in_place)) {
      read_.input = sizes_of("input", call_.input_parts, call_.input.count(),
                             call_.input.element_bytes(), false);
    }
    if (!of_input) {
      read_.output = sizes_of("output", call_.output_parts, call_.output.count(),
                              call_.output.element_bytes(), true);
    }
    if (!read_.status.ok()) return;
    read_.all = of_input || (both && !read_.in_place) ? read_.input : read_.output;
    const auto own = static_cast<std::uint32_t>(rank_);
    if (!both && of_input) {
      if (!(read_.in_place && call_.operation == Operation::scatter))
        check_own("output", call_.output.bytes(), read_.input.size(own));
      read_.output = BlockSizes::equal(1, read_.input.size(own));
    } else if (!both && !read_.in_place) {
      check_own("input", call_.input.bytes(), read_.output.size(own));
      read_.input = own_input;
    }
    if (!rooted && !both) read_.bytes = read_.all.total(0, read_.all.count()) / ranks_;
    check_buffers(of_input || !read_.in_place,
                  !(read_.in_place && call_.operation == Operation::scatter));
  }

  void check_own(const char* which, std::uint64_t has, std::uint64_t part) {
    if (has != part)
      unsure(Refusal::sizes,
             cat("the ", which, " has ", has, " bytes, but this rank's part has ", part));
  }

  BlockSizes sizes_of(const char* which, const std::vector<Part>& parts, std::size_t count,
                      std::size_t element, bool written) {
    if (parts.size() != ranks_) {
      unsure(Refusal::parts,
             cat("the ", which, " has ", parts.size(), " parts for ", ranks_, " ranks"));
      return {};
    }
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> sizes;
    bool one_behind_the_other = true;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      if (part.offset > count || part.count > count - part.offset) {
        unsure(Refusal::parts,
               cat("part ", i, " of the ", which, " extends past its ", count, " elements"));
        return {};
      }
      offsets.push_back(part.offset * element);
      sizes.push_back(part.count * element);
      one_behind_the_other = one_behind_the_other && offsets.back() == end;
      end = offsets.back() + sizes.back();
    }
    if (one_behind_the_other) return BlockSizes::packed(sizes);
    if (written) check_apart(which, parts);
    return BlockSizes::placed(std::move(offsets), std::move(sizes));
  }

  void check_apart(const char* which, const std::vector<Part>& parts) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i].count > 0) order.push_back(i);
    std::ranges::sort(order, {}, [&](std::size_t i) { return parts[i].offset; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Part& left = parts[order[i - 1]];
      if (left.offset + left.count > parts[order[i]].offset)
        return unsure(Refusal::parts, cat("parts ", order[i - 1], " and ", order[i], " of the ",
                                          which, " overlap"));
    }
  }

  void check_reduction() {
    const bool has_output = call_.operation != Operation::reduce || is_root_;
    if (has_output && !read_.in_place &&
        (call_.input.element_bytes() != call_.output.element_bytes() ||
         call_.input.type() != call_.output.type()))
      return unsure(Refusal::elements, "input and output have different element types");
    if (call_.reducer->function() && *call_.reducer->function()) return;
    if (call_.reducer->function())
      return refuse(Refusal::reduction, "the reduction function is empty");
    const ElementType type = read_.in_place ? call_.output.type() : call_.input.type();
    if (const std::string why = why_not(call_.reducer->op(), type, read_.unit); !why.empty())
      refuse(Refusal::reduction, why);
  }

  const Collective::Inside& call_;
  int rank_;
  std::size_t ranks_;
  bool is_root_;
  Arguments read_;
};

}  // namespace

Arguments arguments_of(const Collective::Inside& call, int rank, int ranks) {
  return Reader(call, rank, ranks).read();
}

}  // namespace scela::collectives
