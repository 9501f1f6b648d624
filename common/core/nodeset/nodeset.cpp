#include "common/core/nodeset/nodeset.h"

#include <algorithm>
#include <utility>

#include "common/core/nodeset/nodeset_build.h"
#include "common/core/nodeset/nodeset_index.h"
#include "common/core/text.h"

namespace scela {

using nodeset::Group;
using nodeset::IndexKey;

Result<NodeSet> NodeSet::from_names(std::span<const std::string> names) {
  const auto refuse = [](const std::string& name, std::string why) {
    return fail(Error{ErrorKind::usage,
                      cat("take '", name.substr(0, kMaxNameBytes), "' as a node name"), "",
                      std::move(why), ""});
  };
  nodeset::Builder builder;
  for (const std::string& name : names) {
    if (name.empty()) return refuse(name, "the name is empty");
    if (name.size() > kMaxNameBytes) {
      return refuse(name, cat("it is longer than ", kMaxNameBytes, " characters"));
    }
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (nodeset::surely_allowed(name[i])) continue;
      if (const char* why = nodeset::refusal_of(name[i], i == 0)) {
        return refuse(name, cat("character ", i + 1, ": ", why));
      }
    }
    builder.add_name(name);
  }
  NodeSet set = builder.finish();
  if (set.size() > kMaxNodes) {
    return fail(Error{ErrorKind::usage, "take a list of node names", "",
                      cat(set.size(), " nodes are more than the limit of ", kMaxNodes), ""});
  }
  return set;
}

std::size_t NodeSet::size() const {
  std::size_t size = 0;
  for (const Group& group : groups_)
    size += group.rows();
  return size;
}

bool NodeSet::contains(std::string_view name) const {
  std::string pattern;
  std::vector<IndexKey> keys;
  nodeset::split_name(name, pattern, keys);
  const auto group = std::lower_bound(
      groups_.begin(), groups_.end(), pattern,
      [](const Group& candidate, const std::string& wanted) { return candidate.pattern < wanted; });
  // A name that contains the mark's own byte has fewer indices than its pattern seems to have.
  if (group == groups_.end() || group->pattern != pattern || group->indices != keys.size()) {
    return false;
  }
  std::size_t low = 0;
  std::size_t high = group->rows();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const IndexKey* row = group->row(middle);
    if (std::lexicographical_compare(row, row + keys.size(), keys.begin(), keys.end())) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < group->rows() && std::equal(keys.begin(), keys.end(), group->row(low));
}

std::vector<IndexKey> NodeSet::combine_rows(const Group& a, const Group& b, Keep keep) {
  const std::size_t width = a.indices;
  std::vector<IndexKey> out;
  const auto take = [&](bool wanted, const Group& from, std::size_t row) {
    if (wanted) out.insert(out.end(), from.row(row), from.row(row) + width);
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.rows() && j < b.rows()) {
    const auto order = std::lexicographical_compare_three_way(a.row(i), a.row(i) + width, b.row(j),
                                                              b.row(j) + width);
    if (order < 0) {
      take(keep.left, a, i++);
    } else if (order > 0) {
      take(keep.right, b, j++);
    } else {
      take(keep.both, a, i++);
      ++j;
    }
  }
  while (i < a.rows())
    take(keep.left, a, i++);
  while (j < b.rows())
    take(keep.right, b, j++);
  return out;
}

NodeSet NodeSet::combine(NodeSet a, NodeSet b, Keep keep) {
  NodeSet out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.groups_.size() || j < b.groups_.size()) {
    const bool only_left = j == b.groups_.size();
    const bool only_right = i == a.groups_.size();
    const int order = only_left    ? -1
                      : only_right ? 1
                                   : a.groups_[i].pattern.compare(b.groups_[j].pattern);
    if (order < 0) {
      if (keep.left) out.groups_.push_back(std::move(a.groups_[i]));
      ++i;
    } else if (order > 0) {
      if (keep.right) out.groups_.push_back(std::move(b.groups_[j]));
      ++j;
    } else {
      Group& group = a.groups_[i++];
      const Group& other = b.groups_[j++];
      if (group.indices == 0) {
        if (keep.both) out.groups_.push_back(std::move(group));
        continue;
      }
      group.keys = combine_rows(group, other, keep);
      if (!group.keys.empty()) out.groups_.push_back(std::move(group));
    }
  }
  return out;
}

NodeSet NodeSet::united(const NodeSet& other) const {
  return combine(*this, other, {true, true, true});
}

NodeSet NodeSet::minus(const NodeSet& other) const {
  return combine(*this, other, {true, false, false});
}

NodeSet NodeSet::intersection(const NodeSet& other) const {
  return combine(*this, other, {false, true, false});
}

std::vector<std::string> NodeSet::expand() const {
  std::vector<std::string> names;
  names.reserve(size());
  for (std::string name : *this)
    names.push_back(std::move(name));
  return names;
}

NodeSet::Iterator NodeSet::begin() const {
  return {this, 0};
}
NodeSet::Iterator NodeSet::end() const {
  return {this, groups_.size()};
}

std::string NodeSet::Iterator::operator*() const {
  const Group& group = set_->groups_[group_];
  std::string name;
  nodeset::append_name(name, group.pattern, group.row(row_));
  return name;
}

NodeSet::Iterator& NodeSet::Iterator::operator++() {
  if (++row_ == set_->groups_[group_].rows()) {
    row_ = 0;
    ++group_;
  }
  return *this;
}

NodeSet::Iterator NodeSet::Iterator::operator++(int) {
  Iterator before = *this;
  ++*this;
  return before;
}

}  // namespace scela
