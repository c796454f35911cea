// What waits for copies, written wrong.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tile-verify

func.func @negative() {
  // expected-error@+1 {{attribute 'pending' must be the number of groups that may stay open, as 0 : i64 or more; found -1 : i64}}
  "tile.wait_group"() {pending = -1 : i64} : () -> ()
  return
}

// -----

func.func @width() {
  // expected-error@+1 {{attribute 'pending' must be the number of groups that may stay open, as 0 : i64 or more; found 1 : i32}}
  "tile.wait_group"() {pending = 1 : i32} : () -> ()
  return
}

// -----

func.func @read_takes_no_value() {
  // expected-error@+1 {{attribute 'read' is a flag and takes no value; found true}}
  "tile.wait_group"() {pending = 1 : i64, read = true} : () -> ()
  return
}

// -----

func.func @misspelt() {
  // expected-error@+1 {{'tile.wait_group' op does not know the attribute 'reed'. Did you mean 'read'?}}
  "tile.wait_group"() {pending = 1 : i64, reed} : () -> ()
  return
}

// -----

func.func @commit_has_none() {
  // expected-error@+1 {{'tile.commit_group' op does not know the attribute 'read'. It knows none}}
  "tile.commit_group"() {read} : () -> ()
  return
}

// -----

func.func @pending_missing() {
  // expected-error@+1 {{attribute "pending" is expected but not provided}}
  "tile.wait_group"() : () -> ()
  return
}

// -----

func.func @parity_is_one_bit(%bar: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>, %i: index, %p: i32) {
  // expected-error@+1 {{expected 'i1' but got 'i32'}}
  "tile.wait"(%bar, %i, %p) : (!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>, index, i32) -> ()
  return
}
