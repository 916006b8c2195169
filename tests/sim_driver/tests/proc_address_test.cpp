#include <dlfcn.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/sim_driver/api.h"

namespace {

constexpr int kVersions[] = {2000,  2020,  2030,  3000,  3010,  3020,  4000,  4010,  5000,  5050,  6000,  6050,
                             7000,  8000,  9000,  9020,  10000, 10010, 10020, 11000, 11010, 11020, 11030, 11040,
                             11060, 11070, 12000, 12010, 12020, 12030, 12040, 12050, 12060, 12080, 13000};
constexpr cuuint64_t kPerThread = 2;

struct CatalogueRow {
  std::string symbol;
  int version;
  bool per_thread;
};

int version_number(const std::string& text) {
  const std::size_t dot = text.find('.');
  return std::stoi(text.substr(0, dot)) * 1000 + std::stoi(text.substr(dot + 1)) * 10;
}

// The catalogue of the driver's functions, which the simulator's own table was not made from alone.
std::map<std::string, std::vector<CatalogueRow>> catalogue() {
  std::ifstream stream(std::string(VRAMGUARD_TEST_DATA) + "/driver_api_catalog.tsv");
  std::map<std::string, std::vector<CatalogueRow>> by_base;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream fields(line);
    std::string symbol, base, version, per_thread;
    std::getline(fields, symbol, '\t');
    std::getline(fields, base, '\t');
    std::getline(fields, version, '\t');
    std::getline(fields, per_thread, '\t');
    if (symbol.rfind("cu", 0) == 0) by_base[base].push_back({symbol, version_number(version), per_thread != "-"});
  }
  return by_base;
}

std::string expected_symbol(const std::vector<CatalogueRow>& rows, int version, bool per_thread) {
  const CatalogueRow *legacy = nullptr, *own = nullptr;
  for (const CatalogueRow& row : rows) {
    const CatalogueRow*& best = row.per_thread ? own : legacy;
    if (row.version <= version && (!best || row.version > best->version)) best = &row;
  }
  const CatalogueRow* found = per_thread && own ? own : legacy;
  return found ? found->symbol : "";
}

using GetV1 = decltype(&cuGetProcAddress);

void check_library(void* library, int newest) {
  const auto get_v1 = reinterpret_cast<GetV1>(dlsym(library, "cuGetProcAddress"));
  REQUIRE(get_v1);
  int compared = 0;
  for (const auto& [base, rows] : catalogue()) {
    for (const int version : kVersions) {
      for (const cuuint64_t flags : {cuuint64_t{0}, cuuint64_t{1}, kPerThread}) {
        const std::string symbol = expected_symbol(rows, std::min(version, newest), flags == kPerThread);
        void* const untouched = &compared;
        void* address = untouched;
        const CUresult result = get_v1(base.c_str(), &address, version, flags);
        INFO(base << " at " << version << " flags " << flags << " is " << symbol);
        if (symbol.empty()) {
          CHECK(result == CUDA_ERROR_NOT_FOUND);
          CHECK(address == untouched);
        } else {
          CHECK(result == CUDA_SUCCESS);
          CHECK(address == dlsym(library, symbol.c_str()));
        }
        ++compared;
      }
    }
  }
  CHECK(compared > 20000);
}

void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  INFO(path);
  REQUIRE(library);
  return library;
}

void* find(const char* name, int version, CUdriverProcAddressQueryResult* status = nullptr) {
  void* address = &version;
  CHECK(cuGetProcAddress_v2(name, &address, version, 0, status) == CUDA_SUCCESS);
  return address;
}

}  // namespace

TEST_CASE("every name of the catalogue leads to the exported symbol of its version and stream") {
  check_library(open_library(SIM_CUDA), 13000);
}

TEST_CASE("the old driver finds what CUDA 11.4 had, whatever version is asked for") {
  void* old = open_library(SIM_CUDA_OLD);
  CHECK(dlsym(old, "cuGetProcAddress_v2") == nullptr);
  const auto version_of = reinterpret_cast<decltype(&cuDriverGetVersion)>(dlsym(old, "cuDriverGetVersion"));
  int version = 0;
  CHECK(version_of(&version) == CUDA_SUCCESS);
  CHECK(version == 11040);
  check_library(old, 11040);
  dlclose(old);
}

TEST_CASE("the second form says why a symbol is missing") {
  CUdriverProcAddressQueryResult status{};
  CHECK(find("cuMemAlloc", 2000) == reinterpret_cast<void*>(&cuMemAlloc));
  CHECK(find("cuMemAlloc", 13000, &status) == reinterpret_cast<void*>(&cuMemAlloc_v2));
  CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS);
  CHECK(find("cuMemAllocManaged", 5000, &status) == nullptr);
  CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  CHECK(find("cuNothing", 13000, &status) == nullptr);
  CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK(find("cuMemAlloc_v2", 13000, &status) == nullptr);
  CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK(find("cuNothing", 13000, nullptr) == nullptr);
  CHECK(find("cuCtxCreate", 12000) == reinterpret_cast<void*>(&cuCtxCreate_v3));
  CHECK(find("cuGetProcAddress", 11030) == reinterpret_cast<void*>(&cuGetProcAddress));
  CHECK(find("cuGetProcAddress", 12000) == reinterpret_cast<void*>(&cuGetProcAddress_v2));
  CHECK(cuGetProcAddress_v2("cuInit", nullptr, 12000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the private tables are not imitated") {
  const void* table = nullptr;
  const CUuuid id{};
  CHECK(cuGetExportTable(&table, &id) != CUDA_SUCCESS);
  CHECK(table == nullptr);
}
