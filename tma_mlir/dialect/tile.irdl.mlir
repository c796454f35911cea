// The tile dialect. This file is its single definition: the Python package loads it once per context, and stock tools
// load it with `mlir-opt --irdl-file=tile.irdl.mlir`. Attributes that an operation may leave out cannot be declared
// in IRDL; `tile-verify` checks them (see tma_mlir/dialect/verifier.py for their list).

// Parsing a type of nvgpu loads that dialect, which irdl.base below needs; stock mlir-opt has not done so yet.
!load_nvgpu = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

irdl.dialect @tile {
  // #tile.layout<[extents], [strides]>: a row-major logical index of the tile, split over the extents (outermost
  // first), maps to sum(index * stride) elements from the start of the memref.
  irdl.attribute @layout {
    %extents = irdl.base "#builtin.array"
    %strides = irdl.base "#builtin.array"
    irdl.parameters(extents: %extents, strides: %strides)
  }

  // #tile.swizzle<"128B">: the XOR that TMA applies to shared-memory addresses. It adds nothing to the order of the
  // elements; #tile.atoms does.
  irdl.attribute @swizzle {
    %none = irdl.is "none"
    %b32 = irdl.is "32B"
    %b64 = irdl.is "64B"
    %b128 = irdl.is "128B"
    %b128_32 = irdl.is "128B_atom_32B"
    %b128_32_flip = irdl.is "128B_atom_32B_flip_8B"
    %b128_64 = irdl.is "128B_atom_64B"
    %mode = irdl.any_of(%none, %b32, %b64, %b128, %b128_32, %b128_32_flip, %b128_64)
    irdl.parameters(mode: %mode)
  }

  // #tile.atoms<"128B">: the tile is stored as swizzle atoms of 8 rows x 32, 64 or 128 bytes, down the rows first,
  // then across the columns: the layout that wgmma and tcgen05 read. Implies the swizzle of the same name.
  irdl.attribute @atoms {
    %b32 = irdl.is "32B"
    %b64 = irdl.is "64B"
    %b128 = irdl.is "128B"
    %mode = irdl.any_of(%b32, %b64, %b128)
    irdl.parameters(mode: %mode)
  }

  // #tile.plan<{...}>: what tile-plan-copies decided for one copy (read it through tma_mlir.dialect.PlanAttr).
  irdl.attribute @plan {
    %fields = irdl.base "#builtin.dictionary"
    irdl.parameters(fields: %fields)
  }

  // #tile.tensor_map<{...}>: the arguments of one descriptor, in driver order (dimension 0 innermost).
  irdl.attribute @tensor_map {
    %fields = irdl.base "#builtin.dictionary"
    irdl.parameters(fields: %fields)
  }

  // Copies a box between global and shared memory, asynchronously. Offsets and sizes are in elements and in memref
  // order; a static offset of -9223372036854775808 stands for the next dynamic one. The direction follows from the
  // memory spaces. A load completes on the mbarrier (with complete_tx); a store joins the bulk async group.
  irdl.operation @copy_async {
    %source = irdl.base "!builtin.memref"
    %destination = irdl.base "!builtin.memref"
    %source_offset = irdl.is index
    %destination_offset = irdl.is index
    %mbarrier = irdl.base "!nvgpu.mbarrier.group"
    %mbarrier_index = irdl.is index
    %predicate = irdl.is i1
    %multicast_mask = irdl.is i16
    %cache_hint = irdl.is i64
    irdl.operands(source: %source, destination: %destination,
                  source_offsets: variadic %source_offset, destination_offsets: variadic %destination_offset,
                  mbarrier: optional %mbarrier, mbarrier_index: optional %mbarrier_index,
                  predicate: optional %predicate, multicast_mask: optional %multicast_mask,
                  cache_hint: optional %cache_hint)
    %static_source_offsets = irdl.base "#builtin.dense_array"
    %static_destination_offsets = irdl.base "#builtin.dense_array"
    %sizes = irdl.base "#builtin.dense_array"
    irdl.attributes {
      "static_source_offsets" = %static_source_offsets,
      "static_destination_offsets" = %static_destination_offsets,
      "sizes" = %sizes
    }
  }

  // Brings a box of a global tensor into the L2 cache. A hint: it is dropped where TMA cannot do it.
  irdl.operation @prefetch_async {
    %source = irdl.base "!builtin.memref"
    %source_offset = irdl.is index
    %predicate = irdl.is i1
    %cache_hint = irdl.is i64
    irdl.operands(source: %source, source_offsets: variadic %source_offset, predicate: optional %predicate,
                  cache_hint: optional %cache_hint)
    %static_source_offsets = irdl.base "#builtin.dense_array"
    %sizes = irdl.base "#builtin.dense_array"
    irdl.attributes {"static_source_offsets" = %static_source_offsets, "sizes" = %sizes}
  }

  // The descriptor of a tensor map made on the memory of the operand. convert-tile-to-nvgpu creates it;
  // tile-descriptor-args turns it into a kernel parameter that the host encodes.
  irdl.operation @create_descriptor {
    %tensor = irdl.base "!builtin.memref"
    %descriptor = irdl.base "!nvgpu.tensormap.descriptor"
    irdl.operands(tensor: %tensor)
    irdl.results(descriptor: %descriptor)
    %map = irdl.base @tile::@tensor_map
    irdl.attributes {"map" = %map}
  }

  // The tensor of a kernel argument at another address, for descriptors that change in the kernel: copies of the result
  // use descriptors that are made of the argument's in `scratch`, 128 bytes each. `sizes` and `strides` (elements,
  // outermost first) replace the dynamic ones of the type. All threads of the CTA execute it.
  irdl.operation @rebase_tensor {
    %tensor = irdl.base "!builtin.memref"
    %address = irdl.is i64
    %scratch = irdl.base "!builtin.memref"
    %size = irdl.is index
    %stride = irdl.is index
    %rebased = irdl.base "!builtin.memref"
    irdl.operands(tensor: %tensor, address: %address, scratch: %scratch, sizes: variadic %size,
                  strides: variadic %stride)
    irdl.results(rebased: %rebased)
  }

  // Blocks until the phase of the given parity of one mbarrier has completed. A phase is the bytes of the loads that
  // were announced on the mbarrier, and the arrivals it was initialised with.
  irdl.operation @wait {
    %mbarrier = irdl.base "!nvgpu.mbarrier.group"
    %mbarrier_index = irdl.is index
    %parity = irdl.is i1
    irdl.operands(mbarrier: %mbarrier, mbarrier_index: %mbarrier_index, parity: %parity)
  }

  // Closes a bulk async group of the stores that this thread has issued since the last one.
  irdl.operation @commit_group {
    irdl.operands()
  }

  // Blocks until at most `pending` bulk async groups of this thread are open; with the unit attribute `read`, until
  // they have read shared memory.
  irdl.operation @wait_group {
    %pending = irdl.base "#builtin.integer"
    irdl.attributes {"pending" = %pending}
  }
}
