// Tests how measurements become rows of a report.
#include "perf/core/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "common/core/text.h"

namespace scela::perf::report_test {
namespace {

Sample sample(std::size_t bytes, std::vector<double> us, const char* bench = "latency",
              int ranks = 2) {
  return {bench, "shm", bytes, ranks, 1, std::move(us)};
}

TEST_CASE("perf report: the median of all rounds of all turns, and the ratio to each peer") {
  Report report;
  report.add("scela", sample(8, {0.2, 0.1}));
  report.add("mpich", sample(8, {0.5, 0.4, 0.6}));
  report.add("scela", sample(8, {0.3}));
  report.add("mpich", sample(8, {0.7, 0.3}));
  const std::vector<Row> rows = report.rows();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].contestant == "scela");
  CHECK(rows[0].median_us == 0.2);
  CHECK(rows[0].min_us == 0.1);
  CHECK(rows[0].max_us == 0.3);
  CHECK(rows[0].ratio == 0);
  CHECK(rows[1].contestant == "mpich");
  CHECK(rows[1].median_us == 0.5);
  CHECK(rows[1].ratio == Approx(0.4));
}

TEST_CASE("perf report: sizes are in order, and no library is compared with another size") {
  Report report;
  report.add("scela", sample(1024, {2}));
  report.add("scela", sample(8, {1}));
  report.add("openmpi", sample(64, {5}));
  report.add("openmpi", sample(1024, {4}));
  const std::vector<Row> rows = report.rows();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].bytes == 8);
  CHECK(rows[1].bytes == 64);
  CHECK(rows[1].ratio == 0);
  CHECK(rows[3].contestant == "openmpi");
  CHECK(rows[3].ratio == Approx(0.5));
}

TEST_CASE("perf report: bandwidth counts all pairs, and both ways where both are used") {
  Report report;
  report.add("scela", sample(1000000, {100}, "bidirectional", 4));
  CHECK(report.rows()[0].mb_s == Approx(40000));
  Report rate;
  rate.add("scela", sample(8, {0.1}, "rate"));
  CHECK(rate.rows()[0].messages_s == Approx(1e7));
}

TEST_CASE("perf report: a row is an object, and a line of the table") {
  Report report;
  report.add("scela", sample(8, {0.25}));
  report.add("mpich", sample(8, {0.5}));
  const std::vector<Row> rows = report.rows();
  const auto object = nlohmann::json::parse(json_of(rows[1]));
  for (const char* name : {"bench", "op", "bytes", "ranks", "nodes", "provider", "executor",
                           "median_us", "min_us", "max_us", "mb_s", "ratio"})
    CHECK(object.contains(name));
  CHECK(object["median_us"] == 0.5);
  CHECK_FALSE(nlohmann::json::parse(json_of(rows[0])).contains("ratio"));
  CHECK_THAT(table_of(rows), Catch::Contains("mpich") && Catch::Contains("0.500"));
  CHECK(table_of({}).empty());
}

TEST_CASE("perf report: other figures are in the row, as medians for each operation") {
  const auto told = [](const char* op, double kib) {
    return parse_sample(cat(R"({"bench":"memory","op":")", op,
                            R"(","bytes":8,"ranks":8,"nodes":2,"provider":"verbs","us":[100],)",
                            R"("values":{"kib_rank":[)", kib, R"(],"partners":[7]}})"))
        .value();
  };
  Report report;
  for (const double kib : {300.0, 100.0, 200.0}) {
    report.add("scela", told("all", kib));
    report.add("openmpi", told("all", kib * 4));
    report.add("scela", told("CG", kib / 2));
  }
  const std::vector<Row> rows = report.rows();
  REQUIRE(rows.size() == 3);
  const auto own = nlohmann::json::parse(json_of(rows[0]));
  CHECK(own["op"] == "all");
  CHECK(own["kib_rank"] == 200);
  CHECK(own["partners"] == 7);
  CHECK_FALSE(own.contains("mb_s"));
  const auto other = nlohmann::json::parse(json_of(rows[1]));
  CHECK(other["contestant"] == "openmpi");
  CHECK(other["ratio"] == Approx(0.25));  // relative to the memory
  CHECK(rows[2].op == "CG");
  CHECK(rows[2].ratio == 0);
  CHECK_THAT(table_of(rows), Catch::Contains("CG: kib_rank 100") && !Catch::Contains("MB/s"));
}

TEST_CASE("perf report: overlap and noise by their definitions, and the processor time taken") {
  Report report;
  Sample overlap = sample(65536, {155}, "overlap");
  overlap.values = {
      {"blocking_us", {100}},       {"pure_us", {100}},      {"work_us", {100}},
      {"work_during_us", {150}},    {"timed_us", {100}},     {"timed_during_us", {105}},
      {"work_processor_us", {120}}, {"processor_us", {170}}, {"others_processor_us", {30}}};
  report.add("scela", overlap);
  report.add("offloaded", overlap);
  const auto row = nlohmann::json::parse(json_of(report.rows()[1]));
  CHECK(row["osu_percent"] == Approx(95));
  CHECK(row["nbcbench_percent"] == Approx(45));
  CHECK(row["processor_taken_us"] == Approx(80));
  CHECK(row["executor"] == "offload");
  Report noise;
  Sample late = sample(8, {20010}, "noise");
  late.op = "late-receiver";
  late.values = {{"plain_us", {10}}, {"delay_us", {1e6}}};
  noise.add("scela", late);
  CHECK(nlohmann::json::parse(json_of(noise.rows()[0]))["propagated_percent"] == Approx(2));
}

TEST_CASE("perf report: collective operations have a row each, with what they were done by") {
  const auto told = [](const char* op, const char* executor, double us) {
    return parse_sample(
               cat(R"({"bench":"coll","op":")", op, R"(","bytes":8,"ranks":4,"nodes":1,)",
                   R"("provider":"shm","executor":")", executor, R"(","algorithm":")",
                   *executor == 0 ? "" : "ring", R"(","us":[)", us,
                   R"(],"values":{"blocking_us":[100],"pure_us":[100],"work_us":[100],)",
                   R"("work_during_us":[100],"timed_us":[100],"timed_during_us":[110],)",
                   R"("work_processor_us":[100],"processor_us":[130],"others_processor_us":[5],)",
                   R"("overlapped_us":[120],"post_us":[2],"wait_us":[98]}})"))
        .value();
  };
  Report report;
  report.add("scela", told("allreduce", "polled", 40));
  report.add("mpich", told("allreduce", "", 80));
  report.add("scela", told("bcast", "polled", 10));
  const std::vector<Row> rows = report.rows();
  REQUIRE(rows.size() == 3);
  const auto own = nlohmann::json::parse(json_of(rows[0]));
  CHECK(own["op"] == "allreduce");
  CHECK(own["executor"] == "polled");
  CHECK(own["algorithm"] == "ring");
  CHECK(own["median_us"] == 40);
  CHECK(own["post_us"] == 2);
  CHECK(own["wait_us"] == 98);
  CHECK(own["osu_percent"] == Approx(90));
  CHECK(own["nbcbench_percent"] == Approx(80));  // relative to the overlapped call
  CHECK(own["processor_taken_us"] == Approx(35));
  const auto other = nlohmann::json::parse(json_of(rows[1]));
  CHECK(other["ratio"] == Approx(0.5));
  CHECK_FALSE(other.contains("algorithm"));
  CHECK(rows[2].op == "bcast");
}

// Requirement N5: a curve over size and bytes between helps.
TEST_CASE("perf report: overhead of each number of bytes after which an operation was helped on") {
  Sample told = sample(65536, {100}, "coll");
  told.values = {{"blocking_us", {100, 100, 400}},
                 {"work_us", {100}},
                 {"overlapped_us", {180}},
                 {"overlapped_every_1024_us", {115, 110, 120}},
                 {"overlapped_every_65536_us", {150}}};
  Report report;
  report.add("scela", told);
  const auto row = nlohmann::json::parse(json_of(report.rows()[0]));
  CHECK(row["overhead_us"] == Approx(80));
  CHECK(row["overhead_every_1024_us"] == Approx(15));
  CHECK(row["nbcbench_every_1024_percent"] == Approx(85));
  CHECK(row["overhead_every_65536_us"] == Approx(50));
  CHECK(row["nbcbench_every_65536_percent"] == Approx(50));
  CHECK_FALSE(row.contains("overhead_every_overlapped_us"));
}

TEST_CASE("perf report: output of a contestant is checked before it is used") {
  CHECK(parse_sample(
      R"({"bench":"latency","bytes":8,"ranks":2,"nodes":1,"provider":"shm","us":[0.5,1]})"));
  for (
      const char* line :
      {"", "{", "[]", R"({"bench":"latency"})",
       R"({"bench":"latency","bytes":8,"ranks":2,"nodes":1,"provider":"shm","us":[]})",
       R"({"bench":"latency","bytes":8,"ranks":2,"nodes":1,"provider":"shm","us":[0]})",
       R"({"bench":"latency","bytes":8,"ranks":2,"nodes":1,"provider":"shm","us":["x"]})",
       R"({"bench":"latency","bytes":8,"ranks":2,"nodes":1,"provider":"shm","us":[1],"values":{"x":[]}})",
       R"({"bench":"latency","bytes":8,"ranks":2,"nodes":1,"provider":"shm","us":[1],"values":{"x":["y"]}})",
       R"({"bench":"latency","bytes":-8.5,"ranks":"2","nodes":1,"provider":"shm","us":[1]})",
       R"({"bench":"latency","bytes":-8,"ranks":2,"nodes":1,"provider":"shm","us":[1]})",
       R"({"bench":"latency","bytes":8,"ranks":2.5,"nodes":1,"provider":"shm","us":[1]})",
       R"({"bench":"latency","bytes":8,"ranks":2,"nodes":4294967297,"provider":"shm","us":[1]})",
       R"({"bench":"latency","bytes":1e300,"ranks":2,"nodes":1,"provider":"shm","us":[1]})"})
    CHECK_FALSE(parse_sample(line));
}

TEST_CASE("perf report: a median") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}

}  // namespace
}  // namespace scela::perf::report_test
