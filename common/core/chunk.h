// An immutable piece of bytes, shared by all parts that forward, store or send it: output of ranks,
// PMI pairs, files. nla/, pmi/ and launcher/ use it.
//
// A copy of a Chunk copies a reference, never the bytes, so a broadcast to k children holds the
// bytes once. A Chunk may be a window into a larger buffer, which lives as long as any window of
// it. Threads may share the buffer; one thread at a time uses a Chunk.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace scela {

// A reference to immutable bytes. A chunk that was made without bytes is empty.
class Chunk {
 public:
  Chunk() = default;
  // Takes the bytes over, without a copy.
  explicit Chunk(std::string bytes)
      : owner_(std::make_shared<const std::string>(std::move(bytes))), view_(*owner_) {}

  // Returns the bytes. The view is valid while this chunk or a copy of it lives.
  std::string_view view() const { return view_; }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

  // Returns the window [offset, offset + length), clipped to this chunk. It shares the buffer.
  Chunk slice(std::size_t offset, std::size_t length = std::string_view::npos) const {
    Chunk part;
    part.owner_ = owner_;
    part.view_ = view_.substr(std::min(offset, view_.size()), length);
    return part;
  }

  friend bool operator==(const Chunk& a, const Chunk& b) { return a.view_ == b.view_; }

 private:
  std::shared_ptr<const std::string> owner_;
  std::string_view view_;
};

}  // namespace scela
