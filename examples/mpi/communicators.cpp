// Communicators and groups. A group is a list of ranks of MPI_COMM_WORLD, which are those of the
// channel.
#include <algorithm>

#include "layer.h"

namespace layer {
namespace {

// Gives out a communicator that libscela has made. It is MPI_COMM_NULL on ranks outside of it.
Result give(scela::Communicator made, const MPI_ABI_Comm& parent, MPI_Comm* handle) {
  *handle = MPI_COMM_NULL;
  if (made)
    *handle = new MPI_ABI_Comm{std::move(made), parent.handler};
  else if (made.status().code() != scela::Code::bad_communicator)
    return result_of(made.status());
  return {};
}

// Returns the color for split(), which has no other number below 0.
int color_of(int color) {
  return color == MPI_UNDEFINED ? scela::Communicator::kUndefinedColor : color;
}

std::vector<int> members_of(const scela::Communicator& ranks) {
  std::vector<int> members(static_cast<std::size_t>(ranks.size()));
  for (int rank = 0; rank < ranks.size(); ++rank)
    members[static_cast<std::size_t>(rank)] = ranks.world_rank(rank);
  return members;
}

const std::vector<int>* members_of(MPI_Group group) {
  static const std::vector<int> none;
  if (group == MPI_GROUP_EMPTY) return &none;
  return reinterpret_cast<std::uintptr_t>(group) < 0x1000 ? nullptr : &group->members;
}

// Returns the rank in a group of a rank of MPI_COMM_WORLD.
int rank_in(const std::vector<int>& members, int world_rank) {
  const auto found = std::find(members.begin(), members.end(), world_rank);
  return found == members.end() ? MPI_UNDEFINED : static_cast<int>(found - members.begin());
}

// Runs `call` with the group's members. The errors of groups go to the handler of MPI_COMM_SELF.
template <class Call>
int with_group(MPI_Group group, const char* function, Call call) {
  return with(MPI_COMM_SELF, function, [&](MPI_ABI_Comm&) -> Result {
    const std::vector<int>* const members = members_of(group);
    if (members == nullptr) return {MPI_ERR_GROUP, "the handle is MPI_GROUP_NULL or none"};
    return call(*members);
  });
}

MPI_Group group_of(std::vector<int> members) {
  return members.empty() ? MPI_GROUP_EMPTY : new MPI_ABI_Group{std::move(members)};
}

// Returns an error if one of these is no rank of the group.
Result check_ranks(const std::vector<int>& members, std::span<const int> ranks) {
  for (const int rank : ranks)
    if (rank < 0 || static_cast<std::size_t>(rank) >= members.size())
      return {MPI_ERR_RANK, "rank " + std::to_string(rank) + " is none of the group's"};
  return {};
}

std::span<const int> list_of(int n, const int* ranks) {
  return {ranks, static_cast<std::size_t>(std::max(n, 0))};
}

}  // namespace
}  // namespace layer

using namespace layer;

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  return with(comm, "MPI_Comm_rank", [&](MPI_ABI_Comm& c) -> Result {
    *rank = c.ranks.rank();
    return {};
  });
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  return with(comm, "MPI_Comm_size", [&](MPI_ABI_Comm& c) -> Result {
    *size = c.ranks.size();
    return {};
  });
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return with(comm, "MPI_Comm_dup",
              [&](MPI_ABI_Comm& c) { return give(c.ranks.dup(), c, newcomm); });
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return with(comm, "MPI_Comm_split", [&](MPI_ABI_Comm& c) -> Result {
    if (color < 0 && color != MPI_UNDEFINED)
      return {MPI_ERR_ARG, "the color is " + std::to_string(color) + ", which is below 0"};
    return give(c.ranks.split(color_of(color), key), c, newcomm);
  });
}

// Communicator::node() keeps the order of ranks, so the key needs a split by the node's number.
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info, MPI_Comm* newcomm) {
  return with(comm, "MPI_Comm_split_type", [&](MPI_ABI_Comm& c) -> Result {
    if (split_type != MPI_COMM_TYPE_SHARED && split_type != MPI_UNDEFINED)
      return {MPI_ERR_ARG, "only MPI_COMM_TYPE_SHARED is offered"};
    const int node = split_type == MPI_UNDEFINED ? MPI_UNDEFINED : process.channel->node();
    return give(c.ranks.split(color_of(node), key), c, newcomm);
  });
}

// All ranks of `comm` call this, and name disjoint groups. The first member's rank is the color.
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return with(comm, "MPI_Comm_create", [&](MPI_ABI_Comm& c) -> Result {
    const std::vector<int>* const members = members_of(group);
    if (members == nullptr) return {MPI_ERR_GROUP, "the handle is MPI_GROUP_NULL or none"};
    const int mine = rank_in(*members, process.channel->rank());
    const int color = mine == MPI_UNDEFINED ? MPI_UNDEFINED : members->front();
    return give(c.ranks.split(color_of(color), std::max(mine, 0)), c, newcomm);
  });
}

int MPI_Comm_free(MPI_Comm* comm) {
  return with(*comm, "MPI_Comm_free", [&](MPI_ABI_Comm& c) -> Result {
    if (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF)
      return {MPI_ERR_COMM, "a predefined communicator is not freed"};
    c.ranks.free();  // what is under way goes on
    delete std::exchange(*comm, MPI_COMM_NULL);
    return {};
  });
}

int MPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  return with(comm1, "MPI_Comm_compare", [&](MPI_ABI_Comm& one) -> Result {
    const MPI_Comm other = object_of(comm2);
    if (other == nullptr) return {MPI_ERR_COMM, "the second handle is MPI_COMM_NULL or none"};
    std::vector<int> left = members_of(one.ranks), right = members_of(other->ranks);
    *result = MPI_UNEQUAL;
    if (&one == other) {
      *result = MPI_IDENT;
    } else if (left == right) {
      *result = MPI_CONGRUENT;
    } else if (std::is_permutation(left.begin(), left.end(), right.begin(), right.end())) {
      *result = MPI_SIMILAR;
    }
    return {};
  });
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  return with(comm, "MPI_Comm_get_attr", [&](MPI_ABI_Comm&) -> Result {
    static int max_tag = scela::kMaxTag;
    *flag = keyval == MPI_TAG_UB ? 1 : 0;
    if (*flag != 0) *static_cast<int**>(value) = &max_tag;
    return {};
  });
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  return with(comm, "MPI_Comm_set_errhandler", [&](MPI_ABI_Comm& c) -> Result {
    if (errhandler < MPI_ERRORS_ARE_FATAL || errhandler > MPI_ERRORS_RETURN)
      return {MPI_ERR_ERRHANDLER, "only the predefined error handlers are offered"};
    c.handler = errhandler;
    return {};
  });
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return with(comm, "MPI_Comm_get_errhandler", [&](MPI_ABI_Comm& c) -> Result {
    *errhandler = c.handler;
    return {};
  });
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  return with(comm, "MPI_Comm_group", [&](MPI_ABI_Comm& c) -> Result {
    *group = group_of(members_of(c.ranks));
    return {};
  });
}

int MPI_Group_size(MPI_Group group, int* size) {
  return with_group(group, "MPI_Group_size", [&](const std::vector<int>& members) -> Result {
    *size = static_cast<int>(members.size());
    return {};
  });
}

int MPI_Group_rank(MPI_Group group, int* rank) {
  return with_group(group, "MPI_Group_rank", [&](const std::vector<int>& members) -> Result {
    *rank = rank_in(members, process.channel->rank());
    return {};
  });
}

int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return with_group(group, "MPI_Group_incl", [&](const std::vector<int>& members) -> Result {
    if (const Result wrong = check_ranks(members, list_of(n, ranks)); !wrong.ok()) return wrong;
    std::vector<int> chosen;
    for (const int rank : list_of(n, ranks))
      chosen.push_back(members[static_cast<std::size_t>(rank)]);
    *newgroup = group_of(std::move(chosen));
    return {};
  });
}

int MPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                              int ranks2[]) {
  const char* const name = "MPI_Group_translate_ranks";
  return with_group(group1, name, [&](const std::vector<int>& from) -> Result {
    const std::vector<int>* const to = members_of(group2);
    if (to == nullptr) return {MPI_ERR_GROUP, "the second handle is MPI_GROUP_NULL or none"};
    for (int i = 0; i < n; ++i) {
      ranks2[i] = ranks1[i];
      if (ranks1[i] == MPI_PROC_NULL) continue;
      if (const Result wrong = check_ranks(from, {&ranks1[i], 1}); !wrong.ok()) return wrong;
      ranks2[i] = rank_in(*to, from[static_cast<std::size_t>(ranks1[i])]);
    }
    return {};
  });
}

int MPI_Group_free(MPI_Group* group) {
  return with_group(*group, "MPI_Group_free", [&](const std::vector<int>&) -> Result {
    if (*group != MPI_GROUP_EMPTY) delete *group;
    *group = MPI_GROUP_NULL;
    return {};
  });
}
