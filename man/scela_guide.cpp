// scela_guide: prints docs/guide/as-other-tools.md, made from the tables of other tools' options.
// scela_guide FILE writes nothing and ends with 1 unless the file is that page.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "launcher/core/compat/peer_text.h"

int main(int argc, char** argv) {
  const std::string page = scela::peers_page();
  if (argc == 1) {
    std::cout << page << std::flush;
    return std::cout ? 0 : 74;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && text == page) return 0;
  std::cerr << "scela_guide: " << argv[1]
            << " is not what the tables say (write it anew: scela_guide > " << argv[1] << ")\n";
  return 1;
}
