// The checks that a rank makes with an executor, over messages of any library. Every algorithm
// runs, one after the other and several at once, on bytes that the rank knows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/executors/executor.h"
#include "collectives/executors/factory.h"
#include "tests/support/collective_case.h"

namespace scela::collectives::test {

// Returns the kind with this name, or std::nullopt if there is none.
inline std::optional<ExecutorKind> executor_kind_of(std::string_view name) {
  for (const ExecutorKind kind :
       {ExecutorKind::at_once, ExecutorKind::polled, ExecutorKind::thread, ExecutorKind::engine})
    if (name == name_of(kind)) return kind;
  return {};
}

struct Begun {
  Begun(const Case& one, int rank, std::uint32_t tag, std::uint32_t context, Executor& executor)
      : member(one, rank, tag) {
    if (const auto bound = run.bind(member.call({context, tag})); !bound)
      refused = bound.error().text();
    else
      executor.start(run);
  }
  std::string wrong() const {
    if (!refused.empty()) return refused;
    if (run.error() != nullptr) return text(member_case()) + ": " + run.error()->text();
    return member.wrong();
  }
  const Case& member_case() const { return member.operation(); }

  Member member;
  Run run;
  std::string refused;
};

// Returns the first error, or an empty string.
inline std::string probe(int rank, int size, std::uint32_t context, Executor& executor) {
  std::vector<Case> every = cases(size, 1);
  // Some messages are large: they are agreed on first, and cut into pieces.
  for (std::size_t i = 0; i < every.size(); i += 5)
    for (std::uint64_t& bytes : every[i].sizes)
      bytes *= 64;
  constexpr std::size_t kAtOnce = 8;
  for (const std::size_t at_once : {std::size_t{1}, kAtOnce}) {
    if (at_once > 1 && executor.name() == "inline") break;
    for (std::size_t first = 0; first < every.size(); first += at_once) {
      std::vector<std::unique_ptr<Begun>> begun;
      for (std::size_t i = first; i < std::min(first + at_once, every.size()); ++i)
        begun.push_back(std::make_unique<Begun>(every[i], rank, static_cast<std::uint32_t>(i),
                                                context, executor));
      for (const auto& one : begun) {
        if (!one->refused.empty()) return one->refused;
        executor.wait(one->run);
        std::string wrong = one->wrong();
        if (!wrong.empty()) return wrong;
      }
    }
  }
  return {};
}

// More messages than an adapter's queues hold, and more than anything else is asked to have under
// way.
inline std::string probe_long(int rank, int size, std::uint32_t context, Executor& executor) {
  constexpr std::chrono::seconds kPatience(60);
  std::uint32_t tag = 0;
  for (const Case& one : long_cases(size, 300)) {
    Begun begun(one, rank, tag++, context, executor);
    if (begun.refused.empty() && !executor.wait(begun.run, kPatience)) {
      executor.cancel(begun.run, {FaultCode::cancelled, rank, "it does not end"});
      executor.wait(begun.run);
      return text(one) + " does not end";
    }
    std::string wrong = begun.wrong();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace scela::collectives::test
