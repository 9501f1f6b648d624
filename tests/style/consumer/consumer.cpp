#include <iostream>

#include "common/core/rank_set.h"

int main() {
  const auto ranks = scela::RankSet::parse("0-3,7");
  if (!ranks) {
    std::cout << ranks.error().text() << '\n';
    return 1;
  }
  std::cout << ranks->size() << " ranks: " << ranks->text() << '\n';
}
