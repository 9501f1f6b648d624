// Makes two programs of one node with a connected queue pair each.
#pragma once

#include <catch2/catch.hpp>

#include "tests/unit/hca/core/fabric_model.h"

namespace scela::hca::test {

struct Pair {
  explicit Pair(QpType type = QpType::rc, const Way& way = {}) : a(fabric, 1), b(fabric, 2) {
    qa = a.make_qp(type);
    qb = b.make_qp(type);
    REQUIRE(connect(a, qa, type, qb.handle, way) == 0);
    REQUIRE(connect(b, qb, type, qa.handle, way) == 0);
  }
  Fabric fabric;
  Program a, b;
  QueuePair qa, qb;
};

}  // namespace scela::hca::test
