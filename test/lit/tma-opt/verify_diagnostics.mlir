// RUN: tma-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{operation being parsed with an unregistered dialect}}
"foo.bar"() : () -> ()

// -----

func.func @f() -> i1 {
  // expected-error-re@below {{op has {{[0-9]+}} operands}}
  "func.return"() : () -> ()
}

// -----

// expected-note@below {{see existing symbol definition here}}
func.func private @g()
// expected-error@below {{redefinition of symbol named 'g'}}
func.func private @g()
