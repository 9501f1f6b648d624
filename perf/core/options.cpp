#include "perf/core/options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/core/text.h"
#include "perf/core/collective_names.h"
#include "perf/core/patterns.h"

namespace scela::perf {

namespace {

Error wrong(std::string what, std::string why) {
  return {ErrorKind::usage, std::move(what), "", std::move(why),
          "scela-perf --help shows the usage"};
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names)
    text += cat(text.empty() ? "" : ", ", name);
  return text;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads sizes such as "64", "64K" and "4M"; the units are powers of two.
std::optional<std::size_t> size_of(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    constexpr std::string_view kUnits = "KMG";
    const std::size_t unit = kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = static_cast<int>(unit + 1) * 10;
      text.remove_suffix(1);
    }
  }
  const auto value = number<std::size_t>(text);
  if (!value || *value > (std::size_t{1} << 31 >> shift)) return std::nullopt;
  return *value << shift;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

class Reader {
 public:
  explicit Reader(std::span<const std::string_view> words) : words_(words) {}

  Result<Options> read() {
    for (; at_ < words_.size(); ++at_) {
      const std::string_view word = words_[at_];
      if (word == "-h" || word == "--help") {
        options_.action = Options::Action::help;
        return options_;
      }
      if (word == "--version") {
        options_.action = Options::Action::version;
        return options_;
      }
      note(word);
      if (Result<void> taken = take(word); !taken) return fail(std::move(taken.error()));
    }
    return checked();
  }

 private:
  Result<void> take(std::string_view word) {
    if (is_flag(word)) return {};
    if (word == "--algorithm") {
      return with_value(word, [&](std::string_view value) {
        options_.algorithm = value;
        return !value.empty();
      });
    } else if (word == "--executor") {
      return with_value(word, [&](std::string_view value) {
        options_.executor = value;
        return std::ranges::find(kExecutors, value) != std::end(kExecutors);
      });
    } else if (word == "--sizes") {
      return with_value(word, [&](std::string_view value) { return sizes(value, options_.sizes); });
    } else if (word == "--progress") {
      return with_value(word, [&](std::string_view value) {
        return sizes(value, options_.progress) &&
               std::ranges::find(options_.progress, 0U) == options_.progress.end();
      });
    } else if (word == "--keep") {
      return with_value(word, [&](std::string_view value) {
        options_.keep = value;
        return !value.empty();
      });
    } else if (word == "--vs") {
      return with_value(
          word, [&](std::string_view value) { return names(value, kPeers, options_.peers); });
    } else if (word == "--pattern") {
      return with_value(
          word, [&](std::string_view value) { return names(value, kPatterns, options_.patterns); });
    } else if (int* const count = count_named(word)) {
      return with_value(word, [&](std::string_view value) {
        const auto n = number<int>(value);
        const int least = word == "--turns" ? 0 : 1;
        if (n && *n >= least) *count = *n;
        return n && *n >= least;
      });
    } else if (word.starts_with('-')) {
      return fail(wrong(cat("option '", word, "'"), "there is no such option"));
    } else if (options_.bench.empty()) {
      options_.bench = word;
    } else if (options_.bench == "coll" && options_.ops.empty()) {
      if (!names(word, kCollectives, options_.ops))
        return fail(
            wrong(cat("operation '", word, "'"),
                  cat("there is no such operation (there are ", listed(kCollectives), ")")));
    } else {
      return fail(wrong(cat("argument '", word, "'"), "one benchmark at a time"));
    }
    return {};
  }

  void note(std::string_view word) {
    constexpr std::string_view kOfOwnJob[] = {"-n",   "--ranks", "--nodes",
                                              "--vs", "--keep",  "--apart"};
    if (options_.of_own_job.empty() && std::ranges::find(kOfOwnJob, word) != std::end(kOfOwnJob))
      options_.of_own_job = word;
  }

  // Returns whether it is an option without a value.
  bool is_flag(std::string_view word) {
    if (word == "--json")
      options_.json = true;
    else if (word == "--no-pin")
      options_.pin = false;
    else if (word == "--apart")
      options_.apart = true;
    else if (word == "--explain")
      options_.action = Options::Action::explain;
    else if (word == "--census")
      options_.action = Options::Action::census;
    else
      return false;
    return true;
  }

  int* count_named(std::string_view word) {
    if (word == "-n" || word == "--ranks") return &options_.ranks;
    if (word == "--nodes") return &options_.nodes;
    if (word == "--turns") return &options_.turns;
    if (word == "--rounds") return &options_.rounds;
    if (word == "--window") return &options_.window;
    if (word == "--delay") return &options_.delay_ms;
    if (word == "--concurrent") return &options_.concurrent;
    return nullptr;
  }

  template <class Take>
  Result<void> with_value(std::string_view word, Take take) {
    if (++at_ == words_.size())
      return fail(wrong(cat("option '", word, "'"), "its value is missing"));
    if (take(words_[at_])) return {};
    return fail(wrong(cat("option '", word, " ", words_[at_], "'"), "this cannot be its value"));
  }

  static bool sizes(std::string_view list, std::vector<std::size_t>& to) {
    for (const std::string_view part : split(list)) {
      const auto size = size_of(part);
      if (!size) return false;
      to.push_back(*size);
    }
    return true;
  }
  static bool names(std::string_view list, std::span<const std::string_view> known,
                    std::vector<std::string>& to) {
    for (const std::string_view part : split(list)) {
      if (std::ranges::find(known, part) == known.end()) return false;
      to.emplace_back(part);
    }
    return true;
  }

  Result<Options> checked() {
    if (options_.bench.empty()) return fail(wrong("the command line", "it names no benchmark"));
    if (std::ranges::find(kBenches, options_.bench) == std::end(kBenches))
      return fail(wrong(cat("benchmark '", options_.bench, "'"),
                        cat("there is no such benchmark (there are ", listed(kBenches), ")")));
    if (auto fine = collective_options(); !fine) return fail(std::move(fine.error()));
    if (options_.ranks == 0) options_.ranks = usual_ranks(options_.bench);
    if (options_.ranks < 2)
      return fail(wrong(cat("--ranks ", options_.ranks), "messages need two ranks or more"));
    if (options_.ranks % options_.nodes != 0)
      return fail(
          wrong(cat("--nodes ", options_.nodes), "each node takes as many ranks as the others"));
    if (options_.turns == 0 && options_.keep.empty())
      return fail(wrong("--turns 0", "nothing would be run, and without --keep nothing be kept"));
    if (options_.apart && !options_.pin)
      return fail(wrong("--apart --no-pin", "the one says where ranks run, the other nothing"));
    if (options_.sizes.empty() && options_.action == Options::Action::measure)
      options_.sizes = usual_sizes(options_.bench);
    if (options_.patterns.empty()) options_.patterns.emplace_back("all");
    for (const std::string& pattern : options_.patterns)
      if (!fits(pattern, options_.ranks))
        return fail(wrong(cat("--pattern ", pattern, " with ", options_.ranks, " ranks"),
                          "BT and SP run on a square number of ranks, the others on a power of 2"));
    if (options_.apart && !options_.peers.empty())
      return fail(
          wrong(cat("--apart --vs ", options_.peers.front()),
                "ScELA alone would have the second processor, for what moves its messages"));
    const bool copies = std::ranges::find(options_.peers, "copy") != options_.peers.end();
    if (copies && (options_.ranks != 2 || options_.nodes != 1))
      return fail(wrong("--vs copy", "it is a copy between two processes of this machine"));
    return options_;
  }

  Result<void> collective_options() const {
    const bool explains = options_.action == Options::Action::explain;
    const bool counts = options_.action == Options::Action::census;
    if (options_.bench != "coll") {
      for (const auto& [said, word] :
           {std::pair(explains, "--explain"), std::pair(counts, "--census"),
            std::pair(!options_.algorithm.empty(), "--algorithm"),
            std::pair(!options_.progress.empty(), "--progress"),
            std::pair(options_.executor != "polled", "--executor"),
            std::pair(options_.concurrent != 1, "--concurrent")})
        if (said)
          return fail(
              wrong(cat(options_.bench, " ", word), "only collective operations (coll) have it"));
      return {};
    }
    if (options_.ops.empty() && !explains && !counts)
      return fail(wrong("coll", "it names no operation: allreduce, or several: bcast,barrier"));
    if (explains && !options_.peers.empty())
      return fail(wrong("coll --explain --vs", "only the choice of ScELA itself can be explained"));
    if (counts && !options_.peers.empty())
      return fail(wrong("coll --census --vs", "only the lists of ScELA itself can be counted"));
    for (const std::string& name : options_.peers)
      if (name == "copy") return fail(wrong("coll --vs copy", "a bare copy has no operations"));
    return {};
  }

  std::span<const std::string_view> words_;
  std::size_t at_ = 0;
  Options options_;
};

}  // namespace

Result<Options> parse_options(std::span<const std::string_view> words) {
  return Reader(words).read();
}

int usual_ranks(std::string_view bench) {
  if (bench == "memory") return 8;
  return bench == "pairs" ? 4 : 2;
}

std::vector<std::size_t> usual_sizes(std::string_view bench) {
  if (bench == "memory") return {8};
  if (bench == "noise") return {8, 1024, 12288, 65536, 524288};
  if (bench == "coll") return {8, 64, 1024, 8192, 65536, 1 << 20};
  if (bench == "overlap") return {1024, 65536, 524288, 1 << 20};
  if (bench == "pairs") return {8, 1024, 65536, 1 << 20};
  if (bench == "rate") return {8};
  if (bench == "latency") return {0, 8, 64, 1024, 8192, 65536, 1 << 20};
  return {8192, 65536, 262144, 1 << 20, 4 << 20};
}

std::string help_text() {
  return "usage: scela-perf BENCHMARK [options]\n"
         "Measures messages between the ranks of a job, beside other message passing libraries.\n\n"
         "Benchmarks:\n"
         "  latency        half of a round trip\n"
         "  bandwidth      one way, a window of messages under way\n"
         "  bidirectional  both ways at once\n"
         "  rate           messages a second\n"
         "  pairs          one way, all pairs at once, until the slowest is done\n"
         "  memory         what ranks cost that have spoken with each other\n"
         "  overlap        how much of a message a computation hides\n"
         "  noise          how much of a rank's delay another feels\n"
         "  coll OP[,OP]   collective operations: barrier, bcast, reduce, allreduce, gather, "
         "scatter,\n"
         "                 allgather, alltoall, reduce_scatter, scan, exscan; with --explain, by "
         "which\n"
         "                 algorithms\n\n"
         "Options:\n"
         "  --sizes LIST       bytes of a message: 8,64K,4M\n"
         "  -n, --ranks N      ranks; those of the first half speak to those of the second (2;\n"
         "                     pairs: 4, memory: 8)\n"
         "  --nodes N          on so many simulated nodes (1)\n"
         "  --vs LIST          in turns with: mpich, openmpi, for which the same loop is "
         "compiled;\n"
         "                     copy, process_vm_readv alone; write, offloaded: the channel with\n"
         "                     these transfers\n"
         "  --keep DIR         compile contestants into DIR, and take what was compiled there "
         "before\n"
         "  --turns N          runs of each contestant (3); 0 with --keep: only compile\n"
         "  --rounds N         figures of a run for each size (21)\n"
         "  --window N         messages under way (64)\n"
         "  --pattern LIST     memory: who speaks with whom; all, or NAS benchmarks: BT, CG, EP, "
         "FT,\n"
         "                     IS, LU, MG, SP (all)\n"
         "  --delay MS         noise: milliseconds (100)\n"
         "  --algorithm TEXT   coll: this one, as a table's row says it: \"chain segment 16K\"\n"
         "  --executor NAME    coll: at_once, polled, thread or engine (polled)\n"
         "  --concurrent N     coll: operations under way at once (1)\n"
         "  --progress LIST    coll: also beside work that helps them on once every so many bytes, "
         "each\n"
         "                     of: 1K,64K\n"
         "  --explain          coll: print which algorithm is chosen where, and run nothing\n"
         "  --census           coll: print whom ranks speak with by which algorithm, and the queue "
         "pairs\n"
         "                     for that, and run nothing\n"
         "  --apart            all ranks on the first processor; on the second what moves messages "
         "beside\n"
         "                     them: threads, engines, agents\n"
         "  --no-pin           leave it to the system where ranks run\n"
         "  --json             one object a row\n"
         "  -h, --help         this\n"
         "  --version          the version\n";
}

}  // namespace scela::perf
