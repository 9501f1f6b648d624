// Guesses which PMI a program's ranks use, from the libraries that the program is linked to.
// launcher/plan/pmi_choice.cpp reads the files and uses it. The function is pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Says which PMI a program needs. pmi stands for PMI-1 and PMI-2. unknown: no library of the
// program shows a need.
enum class PmiNeed { unknown, pmi, pmix };

// The result of pmi_need().
struct PmiGuess {
  PmiNeed need = PmiNeed::unknown;
  std::string by;  // the library that shows it
};

// Returns the need that the first known library in the list shows. `libraries` has names such as
// libmpi.so.12. The need is unknown if no library shows one.
PmiGuess pmi_need(const std::vector<std::string>& libraries);

}  // namespace scela
