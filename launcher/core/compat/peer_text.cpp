#include "launcher/core/compat/peer_text.h"

#include "common/core/text.h"

namespace scela {
namespace {

std::string_view name_of(PeerVerdict verdict) {
  switch (verdict) {
    case PeerVerdict::same:
      return "same";
    case PeerVerdict::near:
      return "near";
    case PeerVerdict::refused:
      return "refused";
  }
  return "";
}

// Returns the value of an option as users write it in its help.
std::string_view argument_text(PeerArgument takes) {
  switch (takes) {
    case PeerArgument::none:
      return "";
    case PeerArgument::one:
      return " VALUE";
    case PeerArgument::attached:
      return "[=VALUE]";
    case PeerArgument::pair:
    case PeerArgument::variable:
      return " NAME VALUE";
  }
  return "";
}

// Replaces each `from` in the text.
std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  for (auto at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size()))
    out.replace(at, from.size(), to);
  return out;
}

// Returns the spellings and the value, as a user types them.
std::string spellings_text(const PeerOption& row) {
  return cat(replaced(row.spellings, " ", ", "), argument_text(row.takes));
}

std::string becomes_text(const PeerOption& row) {
  const bool is_pair = row.takes == PeerArgument::pair || row.takes == PeerArgument::variable;
  return replaced(row.becomes, "{}", is_pair ? "NAME=VALUE" : "VALUE");
}

// Returns what a row says: what the option becomes, what differs, why it is refused.
std::string meaning_text(const PeerOption& row, std::string_view quote) {
  if (row.verdict == PeerVerdict::refused) return cat(row.text, "; instead: ", row.instead);
  std::string out = row.becomes.empty() ? "" : cat(quote, becomes_text(row), quote);
  if (!row.text.empty()) out += cat(out.empty() ? "" : "; ", row.text);
  return out;
}

std::string section(Peer peer) {
  const PeerFacts& facts = facts_of(peer);
  std::string out = cat("\n## ", facts.title, "\n\n");
  for (const std::string_view sentence : facts.defaults)
    out += cat("- ", sentence, "\n");
  if (peer == Peer::pdcp) return out;
  out += "\n| option | verdict | what scela-run does |\n|---|---|---|\n";
  for (const PeerOption& row : peer_options(peer)) {
    out += cat("| `", spellings_text(row), "` | ", name_of(row.verdict), " | ",
               replaced(meaning_text(row, "`"), "|", "\\|"), " |\n");
  }
  return out;
}

}  // namespace

std::string peer_help(Peer peer, std::string_view name) {
  const PeerFacts& facts = facts_of(peer);
  std::string out = cat("Usage: ", name, " ", facts.usage, "\n", "scela-run, called as ",
                        facts.title, ". See scela-run(1) for its own options.\n\nOptions:\n");
  for (const PeerOption& row : peer_options(peer)) {
    out += cat("  ", spellings_text(row), "\n      ", name_of(row.verdict), ": ",
               meaning_text(row, ""), "\n");
  }
  out += "\nWithout being told:\n";
  for (const std::string_view sentence : facts.defaults)
    out += cat("  ", sentence, "\n");
  return out;
}

std::string peers_page() {
  std::string out =
      "# Called as other tools\n\n"
      "<!-- Made from the tables in launcher/core/compat/tables by `scela_guide`; see extend.md. "
      "-->\n\n"
      "This page is for users of mpiexec, mpirun, srun, pdsh, clush and dshbak. Under these names "
      "`scela-run` reads the options of that\n"
      "tool, so that scripts run unchanged. Put the folder of links into PATH, or write the name "
      "as the first words:\n\n"
      "    $ PATH=/usr/libexec/scela/compat:$PATH\n"
      "    $ mpirun -np 4 -x DEBUG=1 ./hello\n"
      "    $ scela-run --as pdsh -w 'node[1-4]' 'uptime; date'\n\n"
      "`mpiexec` and `mpirun` are names of two tools. A line of `mpiexec` is read as by Hydra, and "
      "one of `mpirun` as by Open MPI; if it has an\n"
      "option that only the other tool knows, all of it is read as by that tool. `--as "
      "mpiexec.hydra` and `--as mpirun.openmpi` choose one.\n\n"
      "The verdict on an option is *same* (no difference is known), *near* (the text says what "
      "differs) or *refused* (the text says why, and\n"
      "what to do). `NAME --help` prints the table of one tool. Variables `SCELA_*` and the "
      "configuration file count as usual, so they reach\n"
      "what the tool has no option for: `SCELA_STATS=1 mpirun -np 4 ./hello`.\n";
  for (const Peer peer : kPeers)
    out += section(peer);
  return out;
}

}  // namespace scela
