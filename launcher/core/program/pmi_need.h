// Guesses which PMI a program's ranks use, from the libraries to which the program is linked, or
// from the bytes of a static program. launcher/plan/pmi_choice.cpp uses it, and
// launcher/plan/dependencies.cpp reads the files. Pure. One thread at a time uses a PmiNames.
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
  std::string by;  // the library, or the name in the program, that shows it
};

// Returns the need that the first known library in the list shows. `libraries` has names such as
// libmpi.so.12. The need is unknown if no library shows one.
PmiGuess pmi_need(const std::vector<std::string>& libraries);

// Looks for the names of variables by which ranks find their PMI, in the bytes of a program that is
// linked to no library.
class PmiNames {
 public:
  // Takes the next bytes of the file.
  void see(std::string_view bytes);
  // Returns the need, or unknown if the program has no such name, or names of both.
  PmiGuess guess() const;

 private:
  std::string last_;  // the end of the bytes before
  bool has_pmi_ = false;
  bool has_pmix_ = false;
};

}  // namespace scela
