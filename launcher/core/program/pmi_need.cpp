#include "launcher/core/program/pmi_need.h"

#include <algorithm>
#include <charconv>

namespace scela {

namespace {

// The names of variables in each client of PMI-1 and PMI-2, and in each of PMIx.
constexpr std::string_view kPmiName = "PMI_FD";
constexpr std::string_view kPmixName = "PMIX_NAMESPACE";

bool is_of(std::string_view library, std::string_view stem) {
  return library.starts_with(stem) && library.substr(stem.size()).starts_with(".so");
}

// "libmpi.so" belongs to Open MPI from version 20 on. Before that (12), it is the common library of
// MPICH and its descendants.
PmiNeed need_of_libmpi(std::string_view library) {
  const std::size_t at = library.find(".so.");
  unsigned version = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = library.substr(at + 4);
    std::from_chars(digits.data(), digits.data() + digits.size(), version);
  }
  if (version == 0) return PmiNeed::unknown;
  return version >= 20 ? PmiNeed::pmix : PmiNeed::pmi;
}

PmiNeed need_of(std::string_view library) {
  for (const std::string_view stem :
       {"libpmix", "libprrte", "libopen-rte", "libopen-pal", "liboshmem"}) {
    if (is_of(library, stem)) return PmiNeed::pmix;
  }
  for (const std::string_view stem : {"libmpich", "libpmi", "libpmi2", "libmpichcxx"}) {
    if (is_of(library, stem)) return PmiNeed::pmi;
  }
  for (const std::string_view stem : {"libmpi", "libmpi_mpifh", "libmpi_cxx", "libmpifort"}) {
    if (is_of(library, stem)) return need_of_libmpi(library);
  }
  return PmiNeed::unknown;
}

}  // namespace

PmiGuess pmi_need(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    const PmiNeed need = need_of(library);
    if (need != PmiNeed::unknown) return {need, library};
  }
  return {};
}

void PmiNames::see(std::string_view bytes) {
  last_.append(bytes);
  has_pmi_ = has_pmi_ || last_.find(kPmiName) != std::string::npos;
  has_pmix_ = has_pmix_ || last_.find(kPmixName) != std::string::npos;
  // A name may go on in the next bytes.
  const std::size_t kept = std::min(last_.size(), kPmixName.size() - 1);
  last_.erase(0, last_.size() - kept);
}

PmiGuess PmiNames::guess() const {
  if (has_pmi_ == has_pmix_) return {};
  return has_pmi_ ? PmiGuess{PmiNeed::pmi, std::string(kPmiName)}
                  : PmiGuess{PmiNeed::pmix, std::string(kPmixName)};
}

}  // namespace scela
