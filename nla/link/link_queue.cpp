#include "nla/link/link_queue.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace scela::nla {

void LinkQueue::add(Encoded message) {
  bytes_ += message.size();
  (holding_ ? held_ : items_).push_back({std::move(message)});
}

void LinkQueue::add_link_frame(std::string frame) {
  bytes_ += frame.size();
  items_.push_back({{std::move(frame), {}}});
}

void LinkQueue::add_change(std::string frame) {
  bytes_ += frame.size();
  items_.push_back({{std::move(frame), {}}, true});
  holding_ = false;
  std::move(held_.begin(), held_.end(), std::back_inserter(items_));
  held_.clear();
}

int LinkQueue::gather(iovec* parts, int max) const {
  int count = 0;
  std::size_t skip = offset_;
  for (const Item& item : items_) {
    for (const std::string_view bytes :
         {std::string_view(item.message.head), item.message.tail.view()}) {
      const std::string_view rest = bytes.substr(std::min(skip, bytes.size()));
      skip -= bytes.size() - rest.size();
      if (rest.empty()) continue;
      if (count == max) return count;
      parts[count++] = {const_cast<char*>(rest.data()), rest.size()};
    }
    if (item.is_last) break;
  }
  return count;
}

bool LinkQueue::wrote(std::size_t bytes) {
  bool was_last = false;
  bytes_ -= bytes;
  offset_ += bytes;
  while (!items_.empty() && offset_ >= items_.front().message.size()) {
    offset_ -= items_.front().message.size();
    was_last = was_last || items_.front().is_last;
    items_.pop_front();
  }
  return was_last;
}

void LinkQueue::clear() {
  items_.clear();
  held_.clear();
  offset_ = bytes_ = 0;
}

}  // namespace scela::nla
