// What a program's ranks speak to find each other, told from the libraries that it is linked to.
//
// Pure; who reads the files is launcher/pmi_choice.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scela {

enum class PmiNeed { unknown, pmi, pmix };

struct PmiGuess {
  PmiNeed need = PmiNeed::unknown;
  std::string by;  // the library that says so
};

// Of the libraries that a program asks for; unknown: none of them says.
PmiGuess pmi_need(const std::vector<std::string>& libraries);

}  // namespace scela
