// Ways to take memory that several programs use.
#pragma once

#include "session.h"

static inline CUmemAllocationProp on_device(const struct session* session) {
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = 1;
  prop.location.type = 1;
  prop.location.id = session->device;
  return prop;
}

static inline CUmemoryPool make_pool(const struct session* session) {
  CUmemoryPool pool = NULL;
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocType = 1;
  props.location.type = 1;
  props.location.id = session->device;
  MUST(session->cu.cuMemPoolCreate(&pool, &props));
  return pool;
}

// The handle goes at once; the mapping keeps the memory.
static inline CUresult map_memory(const struct session* session, unsigned long long bytes, CUdeviceptr* address) {
  const struct driver* driver = &session->cu;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = on_device(session);
  const CUresult code = driver->cuMemCreate(&handle, bytes, &prop, 0);
  if (code != CUDA_SUCCESS) return code;
  MUST(driver->cuMemAddressReserve(address, bytes, 0, 0, 0));
  MUST(driver->cuMemMap(*address, bytes, 0, handle, 0));
  MUST(driver->cuMemRelease(handle));
  return code;
}

static inline void unmap_memory(const struct session* session, CUdeviceptr address, unsigned long long bytes) {
  MUST(session->cu.cuMemUnmap(address, bytes));
  MUST(session->cu.cuMemAddressFree(address, bytes));
}

// A graph of one allocation, whose address and node it tells.
static inline CUgraph make_graph(const struct session* session, unsigned long long bytes, CUdeviceptr* address,
                                 CUgraphNode* node) {
  CUgraph graph = NULL;
  CUDA_MEM_ALLOC_NODE_PARAMS params;
  memset(&params, 0, sizeof params);
  params.poolProps.allocType = 1;
  params.poolProps.location.type = 1;
  params.poolProps.location.id = session->device;
  params.bytesize = bytes;
  MUST(session->cu.cuGraphCreate(&graph, 0));
  MUST(session->cu.cuGraphAddMemAllocNode(node, graph, NULL, 0, &params));
  *address = params.dptr;
  return graph;
}
