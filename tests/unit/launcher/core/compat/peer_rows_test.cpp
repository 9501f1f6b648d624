// The tables of peers' options, row by row.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "common/core/text.h"
#include "launcher/core/compat/peer_text.h"
#include "launcher/core/compat/peer_words.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/options/options.h"

namespace peer_rows_test {

using namespace scela;

namespace {

using Words = std::vector<std::string>;

Words parts(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

// Returns the name of each table, which no other table shares.
std::string name_of(Peer peer) {
  constexpr std::string_view kNames[] = {"mpiexec.hydra", "mpirun.openmpi", "srun", "pdsh",
                                         "clush",         "dshbak",         "pdcp"};
  return std::string(kNames[static_cast<std::size_t>(peer)]);
}

Result<PeerTranslation> translated(std::string name, Words words,
                                   const PeerVariables& variables = {}) {
  const auto read = [](const std::string&) { return Result<std::string>("a:2\nb\n"); };
  return translate({std::move(name), std::move(words)}, variables, read);
}

// Returns a command line with this option in the given spelling, and with all that the peer needs
// besides.
Words line_with(Peer peer, const PeerOption& row, const std::string& spelling) {
  Words words{spelling};
  const std::string value(row.example.empty() ? "x" : row.example);
  const bool is_long = spelling.starts_with("--");
  if (row.takes == PeerArgument::one) words.push_back(value);
  if (row.takes == PeerArgument::attached && !row.example.empty())
    words[0] += cat(is_long ? "=" : "", value);
  if (row.takes == PeerArgument::pair || row.takes == PeerArgument::variable) {
    const auto cut = value.find_first_of(" =");
    words.push_back(value.substr(0, cut));
    words.push_back(cut == std::string::npos ? "y" : value.substr(cut + 1));
  }
  if (peer == Peer::dshbak || peer == Peer::pdcp) return words;
  if (!runs_ranks(peer)) words.insert(words.end(), {"-w", "n[1-2]"});
  if (peer == Peer::srun) words.insert(words.end(), {"-w", "n[1-9]"});
  // The file names the programs.
  if (row.becomes != "PROGRAM : PROGRAM") words.emplace_back("./program");
  return words;
}

// Returns the names of scela-run's options in a row's text: "--np" of "--np={}".
std::set<std::string> named_options(std::string_view becomes) {
  std::set<std::string> names;
  for (const std::string& word : parts(becomes)) {
    if (!word.starts_with("--")) continue;
    names.insert(word.substr(2, word.find_first_of("=,", 2) - 2));
  }
  return names;
}

Options parsed(const Words& words) {
  auto options = parse_options({words, {}, "", std::nullopt});
  INFO((options ? std::string() : options.error().text()));
  REQUIRE(options);
  return std::move(*options);
}

template <class Visit>
void for_each_row(Visit visit) {
  for (const Peer peer : kPeers) {
    if (peer == Peer::pdcp) continue;
    for (const PeerOption& row : peer_options(peer)) {
      for (const std::string& spelling : parts(row.spellings)) {
        INFO(name_of(peer) << " " << spelling);
        visit(peer, row, spelling);
      }
    }
  }
}

void check_accepted(Peer peer, const PeerOption& row, const std::string& spelling) {
  const auto made = translated(name_of(peer), line_with(peer, row, spelling));
  INFO((made ? std::string() : made.error().text()));
  REQUIRE(made);
  if (row.becomes == "--help") {
    CHECK(made->kind == PeerTranslation::Kind::help);
    return;
  }
  if (made->kind == PeerTranslation::Kind::gather) return;
  const Options options = parsed(made->words);
  const std::set<std::string> named = named_options(row.becomes);
  const auto is_set = [&](const std::string& name) {
    return std::ranges::any_of(options.settings, [&](const auto& one) { return one.name == name; });
  };
  // The example chooses one of several alternatives, "--label, --timestamp or ...".
  const bool has_choice = row.becomes.find(" or ") != std::string_view::npos;
  if (has_choice) {
    CHECK(std::ranges::any_of(named, is_set));
    return;
  }
  for (const std::string& name : named) {
    INFO(name);
    CHECK((is_set(name) || name == "hosts"));
  }
}

}  // namespace

TEST_CASE(
    "each option of another tool that is the same or near sets the options that its row names") {
  std::size_t rows = 0;
  for_each_row([&](Peer peer, const PeerOption& row, const std::string& spelling) {
    if (row.verdict == PeerVerdict::refused) return;
    ++rows;
    check_accepted(peer, row, spelling);
  });
  CHECK(rows > 250);
}

TEST_CASE("each option of another tool that is refused is named, with the reason and what to do") {
  std::size_t rows = 0;
  for_each_row([&](Peer peer, const PeerOption& row, const std::string& spelling) {
    if (row.verdict != PeerVerdict::refused) return;
    ++rows;
    const auto made = translated(name_of(peer), line_with(peer, row, spelling));
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::usage);
    CHECK(made.error().text() ==
          cat("option ", spelling, " of ", name_of(peer), ": ", row.text, " (", row.instead, ")"));
  });
  CHECK(rows > 100);
}

TEST_CASE("each row of another tool's table says what differs, or why and what instead") {
  for_each_row([](Peer peer, const PeerOption& row, const std::string& spelling) {
    CHECK((row.verdict == PeerVerdict::same) == row.text.empty());
    CHECK((row.verdict == PeerVerdict::refused) == !row.instead.empty());
    CHECK((row.verdict != PeerVerdict::refused || row.becomes.empty()));
    CHECK(spelling.starts_with('-'));
    // An option that becomes nothing says so.
    if (row.verdict == PeerVerdict::near && row.becomes.empty() && row.convert == nullptr)
      CHECK(row.text.starts_with("ignored"));
    for (const std::string& name : named_options(row.becomes))
      CHECK(find_option(name) != nullptr);
    // A value is needed where the template has a place for one.
    if (row.becomes.find("{}") != std::string_view::npos) CHECK(!row.example.empty());
    static_cast<void>(peer);
  });
}

TEST_CASE("no table of another tool has a spelling twice") {
  for (const Peer peer : kPeers) {
    std::set<std::string> seen;
    for (const PeerOption& row : peer_options(peer)) {
      for (const std::string& spelling : parts(row.spellings)) {
        INFO(name_of(peer) << " " << spelling);
        CHECK(seen.insert(spelling).second);
      }
    }
  }
}

TEST_CASE("help of another tool and the page of the guide have every row") {
  const std::string page = peers_page();
  for_each_row([&](Peer peer, const PeerOption& row, const std::string& spelling) {
    const std::string help = peer_help(peer, name_of(peer));
    CHECK(help.find(cat(spelling)) != std::string::npos);
    CHECK(help.find(row.text) != std::string::npos);
    CHECK(page.find(cat(spelling)) != std::string::npos);
  });
}

}  // namespace peer_rows_test
