// launch_model: Table 2.1 and the curve of Fig. 2.7 of the founding thesis from three constants, as
// JSON for bench/launch_model.py, which makes Markdown and SVG of it.
//
//   launch_model [--set NAME:T_CONN,T_NLA,T_LAUNCH[,HOP]]... [--ppn N]
//
// Constants are milliseconds; without --set those below.
#include "bench/programs/launch_model.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace scela;
using namespace scela::bench;

// Thesis: T_conn "around 5 ms on our testbed" (section 2.2.1). The others follow from its figures
// with the formulas of Table 2.1: spawning over 64 nodes takes ScELA about 0.5 s (Fig. 2.5), hence
// T_conn + T_nla = 7.8 ms; 512 processes without agents take 3.6 s (Fig. 2.6), hence
// T_conn + T_launch = 7.0 ms.
// Simulated nodes of one machine (two cores of a 2.5 GHz Xeon, shared with other work): one agent
// is ready 1.9 ms after scela-run begins to start it; a posix_spawn of a no-op, reaped, takes 0.9
// ms.
const std::vector<Constants> kDefaults = {{"thesis", 5.0, 2.8, 2.0, 0.1},
                                          {"simulated nodes", 1.0, 0.9, 0.9, 0.05}};

// Ranks of the curve: to 32,768 as in Fig. 2.7, then on to a million.
const std::vector<std::uint32_t> kRanks = {16,    64,    256,    1024,   4096,   10240,
                                           16384, 32768, 131072, 262144, 524288, 1000000};

bool parse_set(const char* text, std::vector<Constants>& sets) {
  Constants t;
  t.hop = 0.1;
  const char* colon = std::strchr(text, ':');
  if (colon == nullptr) return false;
  t.name.assign(text, colon);
  const int fields = std::sscanf(colon + 1, "%lf,%lf,%lf,%lf", &t.conn, &t.nla, &t.launch, &t.hop);
  if (fields < 3 || t.conn < 0 || t.nla < 0 || t.launch < 0 || t.hop < 0) return false;
  sets.push_back(t);
  return true;
}

void print_table(const Constants& t) {
  std::printf("   \"table\": [");
  const char* separator = "";
  for (std::uint32_t nodes = 1; nodes <= 64; nodes *= 2) {
    for (std::uint32_t ppn = 1; ppn <= 8; ppn *= 2) {
      std::printf("%s\n    {\"nodes\": %u, \"ppn\": %u, \"with\": %.3f, \"without\": %.3f}",
                  separator, nodes, ppn, with_agents(t, nodes, ppn), without_agents(t, nodes, ppn));
      separator = ",";
    }
  }
  std::printf("],\n");
}

bool print_curve(const Constants& t, std::uint32_t ppn) {
  std::printf("   \"curve\": [");
  const char* separator = "";
  for (const std::uint32_t ranks : kRanks) {
    const std::uint32_t nodes = (ranks + ppn - 1) / ppn;
    const auto degree = choose_degree(nodes, ppn, TreeLimits{});
    if (!degree) {
      std::fprintf(stderr, "launch_model: %s\n", degree.error().text().c_str());
      return false;
    }
    std::printf(
        "%s\n    {\"ranks\": %u, \"nodes\": %u, \"degree\": %u, \"without\": %.3f, \"flat\": %.3f,"
        " \"doubling\": %.3f, \"one_by_one\": %.3f, \"together\": %.3f}",
        separator, ranks, nodes, *degree, without_agents(t, nodes, ppn), with_agents(t, nodes, ppn),
        doubling(t, nodes, ppn), tree(t, nodes, ppn, *degree, Starts::one_by_one),
        tree(t, nodes, ppn, *degree, Starts::together));
    separator = ",";
  }
  std::printf("]");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Constants> sets;
  std::uint32_t ppn = 16;  // TACC Ranger, thesis section 2.4.2
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (std::strcmp(argv[i], "--set") == 0 && more && parse_set(argv[i + 1], sets)) {
      ++i;
    } else if (std::strcmp(argv[i], "--ppn") == 0 && more && std::atoi(argv[i + 1]) > 0) {
      ppn = static_cast<std::uint32_t>(std::atoi(argv[++i]));
    } else {
      std::fprintf(
          stderr,
          "usage: launch_model [--set NAME:T_CONN,T_NLA,T_LAUNCH[,HOP]]... [--ppn N]\n"
          "Milliseconds. Prints JSON; bench/launch_model.py makes tables and curves of it.\n");
      return 2;
    }
  }
  if (sets.empty()) sets = kDefaults;
  std::printf("{\"ppn\": %u, \"sets\": [", ppn);
  const char* separator = "";
  for (const Constants& t : sets) {
    std::printf(
        "%s\n  {\"name\": \"%s\", \"conn\": %g, \"nla\": %g, \"launch\": %g, \"hop\": %g,\n",
        separator, t.name.c_str(), t.conn, t.nla, t.launch, t.hop);
    print_table(t);
    if (!print_curve(t, ppn)) return 1;
    std::printf("}");
    separator = ",";
  }
  std::printf("]}\n");
  return 0;
}
