#include "launcher/core/options/placement_options.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

template <class Choice>
struct Word {
  std::string_view text;
  Choice choice;
  bool is_other_name = false;  // of another launcher; not shown
};

constexpr Word<MapBy> kMapBy[] = {
    {"slot", MapBy::slot},        {"node", MapBy::node},
    {"core", MapBy::core},        {"l3", MapBy::l3},
    {"numa", MapBy::numa},        {"socket", MapBy::socket},
    {"l3cache", MapBy::l3, true}, {"package", MapBy::socket, true},
};
constexpr Word<RankBy> kRankBy[] = {
    {"slot", RankBy::slot},
    {"node", RankBy::node},
    {"fill", RankBy::fill},
    {"core", RankBy::core},
    {"l3", RankBy::l3},
    {"numa", RankBy::numa},
    {"socket", RankBy::socket},
    {"l3cache", RankBy::l3, true},
    {"package", RankBy::socket, true},
};
constexpr Word<BindTo> kBindTo[] = {
    {"none", BindTo::none},        {"hwthread", BindTo::hwthread},
    {"core", BindTo::core},        {"l3", BindTo::l3},
    {"numa", BindTo::numa},        {"socket", BindTo::socket},
    {"l3cache", BindTo::l3, true}, {"package", BindTo::socket, true},
};

constexpr Word<MemoryBinding> kMemoryBinding[] = {
    {"none", MemoryBinding::none},
    {"local", MemoryBinding::local},
    {"prefer", MemoryBinding::prefer},
    {"interleave", MemoryBinding::interleave},
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Open MPI and srun accept their words in any case.
bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool begins(std::string_view text, std::string_view with) {
  return same(text.substr(0, with.size()), with);
}

bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && same(text.substr(text.size() - with.size()), with);
}

template <class Choice>
Result<void> choose(std::string_view text, std::span<const Word<Choice>> words,
                    std::optional<Choice>& out) {
  std::string known;
  for (const Word<Choice>& word : words) {
    if (same(text, word.text)) {
      out = word.choice;
      return {};
    }
    if (!word.is_other_name) known += cat(known.empty() ? "" : ", ", word.text);
  }
  return fail(value_error(cat("'", text, "' is not known"), cat("there are ", known)));
}

PlaceOrder order_of(RankBy rank_by) {
  constexpr PlaceOrder kOrders[] = {PlaceOrder::made,  PlaceOrder::made, PlaceOrder::fill,
                                    PlaceOrder::core,  PlaceOrder::l3,   PlaceOrder::numa,
                                    PlaceOrder::socket};
  return kOrders[static_cast<std::size_t>(rank_by)];
}

BindTo default_binding(const PlacementOptions& said) {
  if (said.cpus_per_rank) return BindTo::core;
  constexpr BindTo kBindings[] = {BindTo::none, BindTo::none, BindTo::core,
                                  BindTo::l3,   BindTo::numa, BindTo::socket};
  return kBindings[static_cast<std::size_t>(said.map_by.value_or(MapBy::slot))];
}

}  // namespace

std::string_view name_of(RankBy rank_by) {
  return kRankBy[static_cast<std::size_t>(rank_by)].text;
}

Result<void> parse_map_by(std::string_view text, PlacementOptions& out) {
  constexpr std::string_view kElements = "pe=";
  constexpr std::string_view kPerNode = "ppr:";  // Open MPI's ppr:N:node
  constexpr std::string_view kNode = ":node";
  if (begins(text, kPerNode) && ends(text, kNode) && text.size() > kPerNode.size() + kNode.size()) {
    const auto number = text.substr(kPerNode.size(), text.size() - kPerNode.size() - kNode.size());
    return fail(value_error(cat("'", text, "' is not known"), cat("say --ppn ", number)));
  }
  const auto colon = text.find(':');
  std::string_view object = text.substr(0, colon);
  std::string_view elements = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (begins(object, kElements) && elements.empty()) {
    elements = object;
    object = "slot";
  }
  if (!elements.empty() || colon != std::string_view::npos) {
    if (!begins(elements, kElements)) {
      return fail(value_error(cat("'", elements, "' is not known"), "write numa:pe=2 or pe=2"));
    }
    elements.remove_prefix(kElements.size());
    if (auto parsed = parse_cpus_per_rank(elements, out); !parsed) return parsed;
  }
  auto chosen = choose<MapBy>(object, kMapBy, out.map_by);
  if (!chosen) chosen.error().hint += " and pe=N";
  return chosen;
}

Result<void> parse_rank_by(std::string_view text, PlacementOptions& out) {
  return choose<RankBy>(text, kRankBy, out.rank_by);
}

Result<void> parse_bind_to(std::string_view text, PlacementOptions& out) {
  constexpr std::string_view kOverload = ":overload-allowed";  // Open MPI's
  if (ends(text, kOverload)) {
    const auto object = text.substr(0, text.size() - kOverload.size());
    return fail(value_error(cat("'", text, "' is not known"),
                            cat("say --bind-to ", object, " --oversubscribe")));
  }
  return choose<BindTo>(text, kBindTo, out.bind_to);
}

Result<void> parse_mem_bind(std::string_view text, PlacementOptions& out) {
  return choose<MemoryBinding>(text, kMemoryBinding, out.memory);
}

Result<void> parse_cpus_per_rank(std::string_view text, PlacementOptions& out) {
  auto number = parse_number(text, 1, kMaxCpusPerRank);
  if (!number) return fail(std::move(number.error()));
  out.cpus_per_rank = *number;
  return {};
}

PlacementPolicy placement_of(const PlacementOptions& said, bool oversubscribe) {
  PlacementPolicy out;
  out.map_by = said.map_by.value_or(MapBy::slot);
  out.bind_to = said.bind_to.value_or(default_binding(said));
  out.order = order_of(said.rank_by.value_or(RankBy::slot));
  out.cpus_per_rank = said.cpus_per_rank.value_or(1);
  out.overload = oversubscribe;
  out.memory = said.memory.value_or(MemoryBinding::none);
  out.report = said.report;
  return out;
}

Error no_room_error(const PlacementPolicy& placement, const std::optional<LargestHost>& largest) {
  const bool by_thread = placement.bind_to == BindTo::hwthread;
  const bool in_object =
      placement.map_by > MapBy::core || (by_thread && placement.map_by == MapBy::core);
  std::string why = cat("a rank needs ",
                        counted(placement.cpus_per_rank, by_thread ? "hardware thread" : "core"));
  if (in_object) why += cat(" of the same ", name_of(placement.map_by));
  if (!largest || largest->units >= placement.cpus_per_rank) {
    why += "; no host has so many that ranks may use";
  } else if (in_object) {
    why += cat("; the largest ", name_of(placement.map_by), " (of ", largest->name, ") has ",
               largest->units);
  } else {
    why += cat("; the largest host (", largest->name, ") has ", largest->units);
  }
  const bool shared = largest && largest->shares_machine;
  if (shared) why += " of this machine's, which simulated nodes share";
  return Error{ErrorKind::usage, "place the ranks", "", std::move(why),
               cat("lower --cpus-per-rank (pe=N), or ",
                   shared ? "simulate fewer nodes" : "name larger hosts")};
}

}  // namespace scela
