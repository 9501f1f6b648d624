// Which of the engines of one user and node is that of a job: the name of its socket.
//
// Programs of one job must find the same engine, and those of another job another: so the socket's
// name says what the launcher has put into their environment, or what they have said themselves
// (scela_hca_join). Where nothing says so there is one engine, "socket".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace scela::hca {

// The path of a socket has 107 characters, of which this is a part.
inline constexpr std::size_t kMostOfJob = 40;

// A number that is drawn from the text (FNV-1a): others have others.
constexpr std::uint64_t number_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

// As it stands if it can be part of a file's name, else 16 digits that are drawn from it.
inline std::string file_word(std::string_view text) {
  constexpr std::string_view kGood =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (text.size() <= kMostOfJob && text.find_first_not_of(kGood) == text.npos) {
    return std::string(text);
  }
  const std::uint64_t hash = number_of(text);
  std::string word = "x";
  for (int shift = 60; shift >= 0; shift -= 4)
    word += "0123456789abcdef"[hash >> shift & 15];
  return word;
}

// `variable(name)`: its value, or an empty one. Empty: no launcher says which job this is.
template <class Variable>
std::string launchers_job(Variable&& variable) {
  for (const auto& [name, kind] : {std::pair{"PMIX_NAMESPACE", "pmix-"}, {"PMI_JOBID", "pmi-"}})
    if (const std::string value = variable(name); !value.empty()) return kind + file_word(value);
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (job.empty()) return {};
  return "slurm-" + file_word(step.empty() ? job : job + "." + step);
}

// What a program says of its job counts more. Nodes are told apart: several may be simulated on one
// machine.
inline std::string told_job(std::string_view name, std::uint32_t node) {
  return "job-" + file_word(name) + "." + std::to_string(node);
}

inline std::string socket_name(std::string_view job) {
  return job.empty() ? "socket" : "socket." + std::string(job);
}

}  // namespace scela::hca
