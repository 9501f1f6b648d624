// exchange_run: one exchange under every cache policy, as JSON: bench/exchange_model.py draws it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/exchange_model.h"

namespace {

using namespace scela;
using namespace scela::sim;

constexpr char kUsage[] =
    "usage: exchange_run [--hosts N] [--ranks N] [--degree N] [--stages N] [--value BYTES]\n"
    "                    [--all 0|1] [--sample N] [--message NS] [--byte PS] [--request NS] "
    "[--hop NS]\n";

bool parse(int argc, char** argv, Exchange& e) {
  if (argc % 2 == 0) return false;
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], &end, 10));
    const double thousandth = number / 1000.0;
    const std::map<std::string, std::uint32_t*> counts{
        {"--hosts", &e.hosts},   {"--ranks", &e.ranks_per_host}, {"--degree", &e.degree},
        {"--stages", &e.stages}, {"--value", &e.value_size},     {"--sample", &e.sample}};
    const std::map<std::string, double*> costs{
        {"--message", &e.costs.message}, {"--request", &e.costs.request}, {"--hop", &e.costs.hop}};
    const std::string word = argv[i];
    if (*end != '\0') return false;
    if (const auto at = counts.find(word); at != counts.end()) {
      if (number == 0 && word != "--value") return false;
      *at->second = number;
    } else if (const auto cost = costs.find(word); cost != costs.end()) {
      *cost->second = thousandth;
    } else if (word == "--byte") {
      e.costs.byte = thousandth / 1000;
    } else if (word == "--all" && number <= 1) {
      e.all = number == 1;
    } else {
      return false;
    }
  }
  return true;
}

struct Shown {
  const char* name;
  std::uint64_t Counts::*value;
};
constexpr Shown kShown[] = {
    {"puts", &Counts::puts_from_children}, {"aggregates", &Counts::aggregates_from_children},
    {"gets", &Counts::gets_from_children}, {"releases", &Counts::releases_down},
    {"answers", &Counts::answers_down},    {"sent_up", &Counts::sent_up},
    {"bytes_up", &Counts::pair_bytes_up},  {"bytes_down", &Counts::pair_bytes_down},
    {"cache_bytes", &Counts::cache_bytes}, {"peak_bytes", &Counts::peak_bytes},
};

void print(const Outcome& outcome) {
  std::printf(" \"microseconds\": %.3f, \"root\": {", outcome.microseconds);
  for (const Shown& one : kShown)
    std::printf("%s\"%s\": %llu", &one == kShown ? "" : ", ", one.name,
                static_cast<unsigned long long>(outcome.nodes[0].*one.value));
  for (const bool most : {false, true}) {
    std::printf("},\n  \"%s\": {", most ? "most" : "median");
    for (const Shown& one : kShown) {
      std::vector<std::uint64_t> values;
      for (std::size_t node = 1; node < outcome.nodes.size(); ++node)
        values.push_back(outcome.nodes[node].*one.value);
      std::sort(values.begin(), values.end());
      std::printf(
          "%s\"%s\": %llu", &one == kShown ? "" : ", ", one.name,
          static_cast<unsigned long long>(most ? values.back() : values[values.size() / 2]));
    }
  }
  std::printf("}");
}

}  // namespace

int main(int argc, char** argv) {
  Exchange e;
  if (!parse(argc, argv, e)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto pair = static_cast<unsigned>(key_of_card(0, 0, 0).size()) + e.value_size;
  std::printf("{\"pair_bytes\": %u, \"policies\": {\n", pair);
  for (int policy = 0; policy < cache::kPolicyKinds; ++policy) {
    e.policy = static_cast<cache::PolicyKind>(policy);
    const Outcome outcome = run(e);
    if (!outcome.wrong.empty()) {
      std::fprintf(stderr, "exchange_run: %s\n", outcome.wrong.c_str());
      return 1;
    }
    std::printf("%s \"%s\": {", policy == 0 ? "" : ",\n",
                std::string(cache::name_of(e.policy)).c_str());
    print(outcome);
    std::printf("}");
  }
  std::printf("\n}}\n");
  return 0;
}
